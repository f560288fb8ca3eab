"""LLM-Viewer (hahnyuan/LLM-Viewer): its roofline of every operator, on one GPU.

It reads the model's shape by `transformers`, from the network: a module of that name gives the shape here. Its
FlashAttention option is off, since it reads the KV cache once for each query head."""
import sys
from types import ModuleType, SimpleNamespace

REMARK = 'tensor parallel 1; prefill and decode in each call; transformers not imported'


def load():
    transformers = ModuleType('transformers')
    for name in ('AutoTokenizer', 'AutoConfig', 'AutoModelForCausalLM'):
        setattr(transformers, name, SimpleNamespace())
    sys.modules['transformers'] = transformers
    import model_analyzer
    from hardwares.hardware_params import hardware_params
    return model_analyzer, hardware_params, transformers


def prepare(parts, step):
    model_analyzer, hardware, transformers = parts
    shape = SimpleNamespace(num_attention_heads=step.heads, hidden_size=step.hidden, num_key_value_heads=step.kv_heads,
                            num_hidden_layers=step.layers, intermediate_size=step.ffn, vocab_size=step.vocabulary)
    transformers.AutoConfig.from_pretrained = lambda *_, **__: shape
    device = 'nvidia_H100_SXM' if 'nvidia_H100_SXM' in hardware else 'nvidia_H100'
    peer = model_analyzer.ModelAnalyzer('meta-llama/Meta-Llama-3-70B', device, 'configs/Llama.py')

    def call():
        result = peer.analyze(seqlen=step.context, batchsize=step.batch, w_bit=16, a_bit=16, kv_bit=16,
                              use_flashattention=False)
        return 1e3 * result['total_results']['decode']['inference_time']
    return call
