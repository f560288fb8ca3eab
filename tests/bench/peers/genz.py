"""GenZ (abhibambhaniya/GenZ-LLM-Analyzer): its decode step, with its own figures of an H100 and of the model."""

REMARK = 'writes its layers to /tmp/genz in each call'


def load():
    from GenZ import decode_moddeling
    return decode_moddeling


def prepare(decode, step):
    def call():
        # Bb is the beam width.
        return decode(model='meta-llama/Llama-3.1-70B', batch_size=step.batch, input_tokens=step.context,
                      output_tokens=0, Bb=1, system_name='H100_GPU', bits='bf16',
                      tensor_parallel=step.tensor)['Latency']
    return call
