"""The settings by backend and name, each with a sentence on what it tries.

To try one more, add it to SETTINGS. Nothing here imports an API: changes are made in the process
that is timed.
"""

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from .changes import Change, Setting, as_is, calls, passes, replaced, sets, then

NO_ONEDNN = {"TF_ENABLE_ONEDNN_OPTS": "0"}
NO_CHECKS = {"HL_JIT_TARGET": "host-no_asserts"}
NAIVE = {"MXNET_ENGINE_TYPE": "NaiveEngine"}
FUSED = {"MXNET_SUBGRAPH_BACKEND": "MKLDNN"}
PADDLE_ONEDNN = {"FLAGS_use_mkldnn": "1"}
AVX2 = (
    "OpenBLAS's kernels in AVX2, since the environment's OpenBLAS may not know the processor.",
    {"OPENBLAS_CORETYPE": "Haswell"},
)
USUAL_LAYOUT = as_is("load", "plain")  # of PyTorch: not channels last


def core_type(says: str, name: str) -> Setting:
    """OpenBLAS's kernels for another processor."""
    return Setting(says, variables={"OPENBLAS_CORETYPE": name})


def flags(name: str, says: str) -> Setting:
    """Theano with these flags."""
    return Setting(says, variables={"THEANO_FLAGS": name})


def autoscheduler(name: str, **settings: str) -> Change:
    """Another of Halide's autoschedulers."""

    def change(file: ModuleType) -> None:
        parameters, load = file.hl.AutoschedulerParams, file.hl.load_plugin
        file.hl.load_plugin = lambda path: load(path.replace("mullapudi2016", name.lower()))
        file.hl.AutoschedulerParams = lambda _, given: parameters(name, {**given, **settings})

    return change


def iree(says: str, level: str = "--iree-opt-level=O3", tiles: tuple[str, ...] = ()) -> Setting:
    """IREE with these flags beside the processor's."""
    here = [flag for flag in ("--iree-llvmcpu-target-cpu=host", level) if flag]
    changes = (
        replaced("FOR_THIS_CPU", lambda _: here),
        replaced("AS_TILED_PRODUCTS", lambda _: tiles),
    )
    return Setting(says, changes=changes)


def flag(name: str) -> Change:
    """One more flag of IREE's."""
    return replaced("FOR_THIS_CPU", lambda given: [*given, name])


def asynchronous(_: Any) -> None:
    """JAX's dispatch by another thread."""
    import jax

    jax.config.update("jax_cpu_enable_async_dispatch", True)


def synchronous(_: Any) -> None:
    import jax

    jax.config.update("jax_cpu_enable_async_dispatch", False)


def ahead_of_time(program: Any) -> Any:
    """JAX's program, compiled for one image."""
    import jax

    return program.lower(jax.ShapeDtypeStruct((1, 28, 28), "float32")).compile()


def image_on_device(program: Any) -> Any:
    import jax

    return lambda images: program(jax.device_put(images))


def static_graph(forward: Any) -> Any:
    from chainer.graph_optimizations import static_graph

    return static_graph.static_graph(forward)


def types_checked(using: Any) -> Any:
    return lambda name, value: using(name, name == "type_check" or value)


def own_kernels(litert: ModuleType) -> None:
    from ai_edge_litert.interpreter import OpResolverType

    kernels = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    passes("Interpreter", experimental_op_resolver_type=kernels)(litert)


def mnn(says: str, **config: str) -> Setting:
    """MNN's session with another configuration."""
    return Setting(says, "session", (then("config", lambda given: {**given, **config}),))


def winograd(says: str, level: int) -> Setting:
    return Setting(says, "session", (calls("MNN.Interpreter", "setSessionHint", 3, level),))


def ncnn(option: str, says: str) -> Setting:
    """An option of ncnn's nets turned off."""
    return Setting(says, changes=(then("ncnn.Net", lambda net: setattr(net.opt, option, False)),))


def session_entry(name: str, value: str) -> Change:
    """An entry of ONNX Runtime's configuration."""
    return calls("ort.SessionOptions", "add_session_config_entry", name, value)


def engine(name: str) -> Change:
    """An engine of OpenCV's."""

    def change(file: ModuleType) -> None:
        passes("cv2.dnn.readNetFromONNX", engine=getattr(file.cv2.dnn, name))(file)

    return change


def configured(*left_out: str, **config: object) -> Change:
    """OpenVINO's model compiled with another configuration."""

    def change(core: Any) -> None:
        compile_model = core.compile_model

        def changed(model: Any, device: str, given: Mapping[str, object]) -> Any:
            kept = {name: value for name, value in given.items() if name not in left_out}
            return compile_model(model, device, {**kept, **config})

        core.compile_model = changed

    return then("ov.Core", change)


def one_image(spec: Any) -> Any:
    """Paddle's description of an input, for one image."""
    return lambda shape, *rest: spec([1, *shape[1:]], *rest)


def no_mkldnn(file: ModuleType) -> None:
    file.torch.backends.mkldnn.set_flags(False)


def flush_denormal(file: ModuleType) -> None:
    file.torch.set_flush_denormal(True)


def in_mkldnn(module: Any) -> Any:
    from torch.utils import mkldnn

    return mkldnn.to_mkldnn(module)


def optimized(frozen: Any) -> Any:
    import torch

    return torch.jit.optimize_for_inference(frozen)


def exact_order(target: Any) -> Any:
    """TVM's target without another order of sums."""

    def changed(config: Any) -> Any:
        exact = {"fast-math-reassoc": False}
        return target({**config, **exact} if isinstance(config, dict) else config)

    return changed


def compiled(says: str, *changes: Change, **options: bool) -> Setting:
    """torch.compile with these options of Inductor."""
    return Setting(says, "compile", (*changes, passes("torch.compile", options=options)))


NO_HINT = configured("PERFORMANCE_HINT", "NUM_STREAMS")
COMPILED = calls("lenet", "compile", jit_compile=True)  # by Keras
NOT_COMPILED = calls("lenet", "compile", jit_compile=False)

SETTINGS: dict[str, dict[str, Setting]] = {
    "caffe": {
        "default_backend": Setting(
            "The backend and target left to OpenCV.",
            changes=(as_is("cv2.dnn.DNN_BACKEND_OPENCV", "cv2.dnn.DNN_BACKEND_DEFAULT"),),
        ),
        "not_fused": Setting(
            "Layers not fused: enableFusion(False).",
            changes=(calls("cv2.dnn.readNetFromCaffe", "enableFusion", False),),
        ),
        "no_winograd": Setting(
            "Convolutions without Winograd's method: enableWinograd(False).",
            changes=(calls("cv2.dnn.readNetFromCaffe", "enableWinograd", False),),
        ),
    },
    "chainer": {
        "haswell": Setting(AVX2[0], variables=AVX2[1]),
        "types_checked": Setting(
            "With the checks of types, as the first pages have it.",
            changes=(replaced("chainer.using_config", types_checked),),
        ),
        "static": Setting(
            "The calls of the first forward pass played back: static_graph, experimental.",
            changes=(replaced("LeNet.forward", static_graph),),
        ),
    },
    "executorch": {
        "portable": Setting(
            "ExecuTorch's portable kernels.",
            changes=(passes("to_edge_transform_and_lower", partitioner=[]),),
        ),
    },
    "ggml": {
        "direct": Setting(
            "ggml_conv_2d_direct, which has no im2col of the whole image.",
            changes=(as_is("ggml.ggml_conv_2d", "ggml.ggml_conv_2d_direct"),),
        ),
    },
    "halide": {
        "by_hand_no_checks": Setting(
            "Our schedule, without checks when it runs: no_asserts.", "by_hand", (), NO_CHECKS
        ),
        "autoscheduled_no_checks": Setting(
            "The schedule of Mullapudi2016, without checks when it runs.",
            "autoscheduled",
            (),
            NO_CHECKS,
        ),
        "li2018": Setting("The autoscheduler Li2018.", "autoscheduled", (autoscheduler("Li2018"),)),
        "adams2019_greedy": Setting(
            "The autoscheduler Adams2019, told to keep one schedule at a time: beam_size=1.",
            "autoscheduled",
            (autoscheduler("Adams2019", beam_size="1"),),
        ),
    },
    "iree": {
        "plain": iree("Only the processor's flag.", level=""),
        "only_o3": iree("-O3 alone."),
        "no_data_tiling": iree(
            "Convolutions as matrix products that are not packed.",
            tiles=("--iree-global-opt-use-im2col-for-convs", "--iree-opt-data-tiling=false"),
        ),
        "microkernels": Setting(
            "All microkernels.", changes=(flag("--iree-llvmcpu-enable-ukernels=all"),)
        ),
        "no_microkernels": Setting(
            "No microkernels.", changes=(flag("--iree-llvmcpu-enable-ukernels=none"),)
        ),
        "any_number": Setting(
            "For any number of images.",
            changes=(replaced("update_inputs_outputs_dims", lambda _: lambda model, *_: model),),
        ),
        "task": Setting(
            "The driver with a pool of one thread.",
            changes=(passes("runtime.load_vm_flatbuffer", driver="local-task"),),
        ),
    },
    "jax": {
        "compiled": Setting(
            "Compiled ahead of time: lower and compile.",
            "constants",
            (then("jax.jit", ahead_of_time),),
        ),
        "asynchronous": Setting(
            "Asynchronous dispatch, the default.", "constants", (then("load", asynchronous),)
        ),
        "device_put": Setting(
            "The image put on the device first.", "constants", (then("jax.jit", image_on_device),)
        ),
        "donated": Setting(
            "The image's memory donated.", "constants", (passes("jax.jit", donate_argnums=0),)
        ),
    },
    "keras": {
        "on_batch_xla": Setting(
            "predict_on_batch after compile(jit_compile=True).", "predict_on_batch", (COMPILED,)
        ),
        "on_batch_no_xla": Setting(
            "predict_on_batch after compile(jit_compile=False).",
            "predict_on_batch",
            (NOT_COMPILED,),
        ),
        "on_batch_no_onednn": Setting(
            "predict_on_batch without oneDNN.", "predict_on_batch", (NOT_COMPILED,), NO_ONEDNN
        ),
        "predict_xla": Setting("Predict after compile(jit_compile=True).", "predict", (COMPILED,)),
        "predict_no_xla": Setting(
            "Predict after compile(jit_compile=False).", "predict", (NOT_COMPILED,)
        ),
        "call_in_function": Setting(
            "The model in a tf.function.",
            "function",
            (passes("tensorflow.function", jit_compile=None),),
        ),
    },
    "keras-jax": {
        "on_batch_no_jit": Setting(
            "predict_on_batch after compile(jit_compile=False).",
            "predict_on_batch",
            (NOT_COMPILED,),
        ),
        "synchronous": Setting(
            "predict_on_batch without JAX's asynchronous dispatch.",
            "predict_on_batch",
            (then("lenet", synchronous),),
        ),
    },
    "keras-torch": {
        "on_batch_compiled": Setting(
            "predict_on_batch after compile(jit_compile=True): Inductor.",
            "predict_on_batch",
            (COMPILED,),
        ),
    },
    "litert": {
        "no_xnnpack": Setting("LiteRT's own kernels.", "interpreter", (own_kernels,)),
        "latest_delegate": Setting(
            "XNNPACK's latest features.",
            "interpreter",
            (passes("Interpreter", experimental_default_delegate_latest_features=True),),
        ),
        "compiled_ynnpack": Setting(
            "CompiledModel on YNNPACK.", "compiled", (passes("CpuOptions", enable_ynnpack=True),)
        ),
    },
    "mlx": {
        "compile_shapeless": Setting(
            "Compiled once for any number of images.",
            "compile",
            (passes("mx.compile", shapeless=True),),
        ),
    },
    "mnn": {
        "memory_low": mnn("memory=low.", memory="low"),
        "memory_high": mnn("memory=high.", memory="high"),
        "power_high": mnn("power=high.", power="high"),
        "precision_normal": mnn("Precision normal, the default.", precision="normal"),
        "winograd_1": winograd("Winograd's method with small tiles.", 1),
        "winograd_2": winograd("Winograd's method with medium tiles.", 2),
        "module_fixed": Setting(
            "The newer API, its shapes declared fixed.",
            "module",
            (passes("nn.load_module_from_file", shape_mutable=False, rearrange=True),),
        ),
    },
    "mxnet": {
        "symbol_naive": Setting(
            "The engine that runs in the caller's thread.", "symbol", (), NAIVE
        ),
        "gluon_naive": Setting(
            "Layers, and the engine that runs in the caller's thread.", "gluon", (), NAIVE
        ),
        "symbol_fused": Setting("Operators fused by oneDNN.", "symbol", (), FUSED),
        "symbol_fused_naive": Setting(
            "Operators fused by oneDNN, in the caller's thread.", "symbol", (), {**FUSED, **NAIVE}
        ),
        "symbol_no_onednn": Setting("Without oneDNN.", "symbol", (), {"MXNET_MKLDNN_ENABLED": "0"}),
    },
    "ncnn": {
        "no_packing": ncnn("use_packing_layout", "No packed layout."),
        "no_sgemm": ncnn("use_sgemm_convolution", "Convolutions not as matrix products."),
        "no_winograd": ncnn("use_winograd_convolution", "Convolutions not by Winograd's method."),
        "no_light_mode": ncnn("lightmode", "Intermediate results kept."),
    },
    "onnxruntime": {
        "any_number": Setting("For any number of images.", "any_number"),
        "no_arena": Setting(
            "No memory arena.", "run", (sets("ort.SessionOptions", "enable_cpu_mem_arena", False),)
        ),
        "no_memory_pattern": Setting(
            "No memory pattern.", "run", (sets("ort.SessionOptions", "enable_mem_pattern", False),)
        ),
        "no_spinning": Setting(
            "No spinning of threads.",
            "run",
            (session_entry("session.intra_op.allow_spinning", "0"),),
        ),
        "denormals_as_zero": Setting(
            "Denormal numbers as zero.",
            "run",
            (session_entry("session.set_denormal_as_zero", "1"),),
        ),
    },
    "openblas": {
        "haswell": core_type("Kernels in AVX2.", "Haswell"),
        "zen": core_type("Kernels for the first EPYC.", "Zen"),
        "skylakex": core_type("Kernels in AVX-512.", "SkylakeX"),
        "cooperlake": core_type("Kernels in AVX-512 of a later Xeon.", "Cooperlake"),
    },
    "opencv": {
        "classic": Setting(
            "ENGINE_CLASSIC requested, OpenCV 4's.", changes=(engine("ENGINE_CLASSIC"),)
        ),
        "classic_no_winograd": Setting(
            "ENGINE_CLASSIC requested, without Winograd's method.",
            changes=(
                engine("ENGINE_CLASSIC"),
                calls("cv2.dnn.readNetFromONNX", "enableWinograd", False),
            ),
        ),
        "new": Setting("ENGINE_NEW requested, OpenCV 5's.", changes=(engine("ENGINE_NEW"),)),
        "by_onnxruntime": Setting(
            "ENGINE_ORT requested, ONNX Runtime.", changes=(engine("ENGINE_ORT"),)
        ),
    },
    "openvino": {
        "called": Setting(
            "The compiled model called as in the first example.",
            "any_number",
            (passes("load", images=1),),
        ),
        "any_number": Setting(
            "Compiled for any number of images.", "infer", (passes("load", images=-1),)
        ),
        "no_hint": Setting("No hint of latency and no streams: threads only.", "infer", (NO_HINT,)),
        "not_pinned": Setting(
            "No pinning of OpenVINO's own.", "infer", (configured(ENABLE_CPU_PINNING=False),)
        ),
        "tensors_no_hint": Setting(
            "Tensors that are set once, with no streams and no hint.", "tensors", (NO_HINT,)
        ),
    },
    "paddle": {
        "predictor_no_onednn": Setting(
            "Without oneDNN.",
            "predictor",
            (as_is("inference.Config.enable_mkldnn", "inference.Config.disable_mkldnn"),),
        ),
        "predictor_one_image": Setting(
            "For one image.", "predictor", (replaced("InputSpec", one_image),)
        ),
        "predictor_memory": Setting(
            "Memory reused.",
            "predictor",
            (as_is("inference.Config.enable_mkldnn", "inference.Config.enable_memory_optim"),),
        ),
        "eager_onednn": Setting("Layer after layer, with oneDNN.", "eager", (), PADDLE_ONEDNN),
        "static_onednn": Setting("The graph, with oneDNN.", "static", (), PADDLE_ONEDNN),
        "eager_parallel_executor": Setting(
            "The graph, without the serial executor.",
            "static",
            (),
            {"FLAGS_new_executor_serial_run": "0"},
        ),
    },
    "pytensor": {
        "no_fastmath": Setting(
            "Numba without its fast-math.", variables={"PYTENSOR_FLAGS": "numba__fastmath=False"}
        ),
        "compiled_in_c": Setting(
            "C in place of Numba: the mode CVM.",
            changes=(passes("pytensor.function", mode="CVM"),),
        ),
    },
    "tensorflow": {
        "eager_no_onednn": Setting(
            "Operation after operation, without oneDNN.", "eager", (), NO_ONEDNN
        ),
        "xla_no_onednn": Setting("XLA, without oneDNN.", "xla", (), NO_ONEDNN),
        "concrete_no_onednn": Setting("The graph, without oneDNN.", "concrete", (), NO_ONEDNN),
        "session_no_onednn": Setting(
            "A session run by the caller's thread, without oneDNN.", "session", (), NO_ONEDNN
        ),
        "xla_any_number": Setting("XLA, for any number of images.", "xla_of_any_number"),
        "concrete_any_number": Setting("The graph, for any number of images.", "any_number"),
        "xla_function": Setting(
            "tf.function(jit_compile=True), as the guide shows it: no concrete function.",
            "function",
            (passes("tf.function", jit_compile=True),),
        ),
        "session_thread_of_its_own": Setting(
            "A session run by a thread of its own, its default.",
            "session",
            (passes("tf.compat.v1.RunOptions", inter_op_thread_pool=0),),
        ),
    },
    "theano": {
        "memory_kept": flags(
            "allow_gc=False", "Intermediate arrays kept between calls: allow_gc=False."
        ),
        "fast_math": flags(
            "gcc.cxxflags=-O3 -ffast-math -ftree-loop-distribution -funroll-loops",
            "The compiler's flags of the FAQ, -ffast-math among them.",
        ),
        "eager_vm": flags(
            "allow_gc=False,vm.lazy=False",
            "Arrays kept, and every operation executed in turn: vm.lazy=False.",
        ),
        "unoptimized": flags("optimizer=fast_compile", "Few rewrites: optimizer=fast_compile."),
        "haswell": Setting(AVX2[0], variables=AVX2[1]),
    },
    "tinygrad": {
        "llvm": Setting(
            "Kernels compiled by LLVM's library in place of clang.", "jit", (), {"DEV": "CPU:LLVM"}
        ),
    },
    "torch": {
        "eager_no_grad": Setting(
            "no_grad in place of inference_mode.",
            "eager",
            (as_is("torch.inference_mode", "torch.no_grad"),),
        ),
        "eager_no_mkldnn": Setting("Without oneDNN.", "eager", (no_mkldnn,)),
        "eager_flush_denormal": Setting("Denormal numbers as zero.", "eager", (flush_denormal,)),
        "to_mkldnn": Setting(
            "The module's weights in oneDNN's own layout.",
            "contiguous",
            (as_is("torch.inference_mode", "torch.no_grad"), then("plain", in_mkldnn)),
        ),
        "compile_static": Setting(
            "torch.compile for one image, dynamic=False.",
            "compile",
            (passes("torch.compile", dynamic=False),),
        ),
        "compile_contiguous": Setting(
            "torch.compile in the usual layout.",
            "compile",
            (USUAL_LAYOUT, passes("torch.compile", dynamic=False)),
        ),
        "compile_freezing": compiled("torch.compile with frozen weights.", freezing=True),
        "compile_freezing_contiguous": compiled(
            "torch.compile with frozen weights, in the usual layout.", USUAL_LAYOUT, freezing=True
        ),
        "compile_cpp_wrapper": compiled(
            "torch.compile with frozen weights and a wrapper in C++.",
            freezing=True,
            cpp_wrapper=True,
        ),
        "compile_max_autotune": compiled(
            "torch.compile with frozen weights, tuned.", freezing=True, max_autotune=True
        ),
        "export_contiguous": Setting(
            "Compiled ahead of time for one image in the usual layout.", "export", (USUAL_LAYOUT,)
        ),
        "export_freezing": Setting(
            "Compiled ahead of time for one image, with frozen weights.",
            "export",
            (passes("packaged", settings={"freezing": True}),),
        ),
        "torchscript_contiguous": Setting(
            "Traced and frozen, in the usual layout.", "torchscript", (USUAL_LAYOUT,)
        ),
        "torchscript_optimized": Setting(
            "Traced, frozen and optimize_for_inference.",
            "torchscript",
            (USUAL_LAYOUT, then("torch.jit.freeze", optimized)),
        ),
        "torchscript_optimized_channels_last": Setting(
            "Traced, frozen and optimize_for_inference, channels last.",
            "torchscript",
            (then("torch.jit.freeze", optimized),),
        ),
    },
    "tvm": {
        "exact_order": Setting(
            "Sums in the order that is written.",
            changes=(replaced("tvm.target.Target", exact_order),),
        ),
        "compiled_calls": Setting(
            "The virtual machine's code compiled too.",
            changes=(
                as_is("tvm.compile", "relax.build"),
                passes("tvm.compile", exec_mode="compiled"),
            ),
        ),
    },
}

#: Measured once and no longer run: each needed code of its own, which is in the history.
MEASURED_ONCE: dict[str, dict[str, str]] = {
    "executorch": {
        "channels_last": "Exported channels last, XNNPACK's own layout.",
        "dynamic": "Exported for any number of images.",
    },
    "keras": {
        "exported": "Model.export, and the saved model's endpoint.",
        "no_training_flag": "model(x, training=False), as the guides write it.",
    },
    "keras-openvino": {
        "exported": 'Model.export(format="openvino"), run by OpenVINO itself for one image.',
    },
    "keras-torch": {
        "channels_first_no_grad": "Channels first, PyTorch's own layout, under no_grad.",
    },
    "litert": {
        "signature": "The signature runner, which the guide shows first.",
        "tensors": "The interpreter's own memory, as Interpreter.tensor gives it.",
    },
    "mnn": {
        "module_placeholder": "The newer API, its shapes declared fixed, the image written into "
        "one placeholder.",
    },
    "onednn": {
        "of_paddle": "OneDNN 3.6, the library of the environment `paddle`; needs TensorFlow for "
        "its headers.",
    },
    "opencv": {
        "one_image": "ENGINE_NEW requested, on a model for one image.",
    },
    "openvino": {
        "share_outputs": "Outputs shared too, and copied by us.",
        "started": "start_async and wait, with tensors that are set once.",
    },
    "paddle": {
        "predictor_run_list": "Predictor.run with tensors, as the quick start shows it.",
    },
    "tensorflow": {
        "session_callable": "Session.make_callable, run by the caller's thread.",
        "session_callable_not_public": "Session._make_callable_from_options, which is no public "
        "API.",
    },
    "torch": {
        "export_one_image": "Compiled ahead of time for one image.",
        "export_max_autotune": "Compiled ahead of time, with frozen weights, tuned; this is "
        "torch:autotuned.",
    },
    "tract": {
        "state": "One state for all calls, in place of one a call.",
    },
    "tvm": {
        "tuned": "Tuned by MetaSchedule, with a bound on its trials.",
    },
}
