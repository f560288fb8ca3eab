"""llm-analysis (cli99/llm-analysis): its inference at one generated token, with every efficiency 1."""
import dataclasses

REMARK = 'prefill and decode in each call'


def load():
    from llm_analysis import analysis, config
    return analysis, config


def model_of(config, step):
    fields = {'name': 'llama_3_70b', 'num_layers': step.layers, 'n_head': step.heads, 'hidden_dim': step.hidden,
              'vocab_size': step.vocabulary, 'num_key_value_heads': step.kv_heads, 'ffn_embed_dim': step.ffn,
              'model_type': 'llama', 'mlp_gated_linear_units': True}
    known = {field.name for field in dataclasses.fields(config.ModelConfig)}
    return config.ModelConfig(**{name: value for name, value in fields.items() if name in known})


def prepare(parts, step):
    global REMARK
    analysis, config = parts
    model = model_of(config, step)
    if not hasattr(model, 'mlp_gated_linear_units'):
        REMARK += '; two of three MLP matrices'
    peer = analysis.LLMAnalysis(model, config.get_gpu_config_by_name('h100-sxm-80gb'),
                                parallelism_config=config.ParallelismConfig(tp_size=step.tensor),
                                flops_efficiency=1, hbm_memory_efficiency=1)

    def call():
        return 1e3 * peer.inference(batch_size_per_gpu=step.batch, seq_len=step.context,
                                    num_tokens_to_generate=1)['decode_latency']
    return call
