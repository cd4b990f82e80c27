"""How each API is called: its own functions above a network, by the module of its backend."""

from collections.abc import Callable, Mapping
from typing import Any

from ..experiment_names import ENTERING
from ..networks.pieces import Form
from . import Case, Infer, Ways
from .calling import COMPILED, EAGER, ON_TENSOR, Below, Held, Inside, called

#: Compiled for too long, or captured once.
_TOO_LONG = ("autotuned", "cudagraph", "max_autotune", "pinned", "reduce_overhead")


def ways_of(case: Case) -> Ways | None:
    """The ways of a variant; None where no pieces are made, as for ncnn, which cannot take ten."""
    module = case.row.module
    own = _OWN[module](case).get(case.variant) if module in _OWN else None
    if own or module == "ncnn" or case.variant in _TOO_LONG:
        return own
    return _whole(case, Form())


def _whole(case: Case, form: Form) -> Ways:
    """The call as users make it, and no way below that."""
    return called(case, ENTERING, "the call of a network that does nothing", form=form)


def _numpy(case: Case) -> dict[str, Ways]:
    evidence = "a call of a function that returns its image"
    return {"": called(case, ENTERING, evidence, form=EAGER)}


def _jax(case: Case) -> dict[str, Ways]:
    import jax

    x = jax.device_put(case.images)

    def entering(held: Held) -> Infer:
        given = [held.parameters] if case.variant == "arguments" else []
        program = held.program
        return case.waiting(lambda _: program(*given, x))

    entered = (ENTERING, "a program that returns ten floats", entering)
    ways = called(case, "arrays", ON_TENSOR, entered, form=COMPILED)
    return dict.fromkeys(("constants", "arguments", "aot"), ways)


def _onnxruntime(case: Case) -> dict[str, Ways]:
    feeds = {"image": case.images[:, None]}

    def run(held: Held) -> Infer:
        session = held.session._sess
        return lambda _: session.run(["probabilities"], feeds, None)

    def bound(held: Held) -> Infer:
        session, binding = held.session._sess, held.binding  # it keeps the bound arrays alive
        return lambda _: session.run_with_iobinding(binding._iobinding, None)

    entering = "a run of a model that returns ten floats"
    python = "InferenceSession.run on an array, less the C++ session on a prepared one"
    copied = "image in, run_with_iobinding, copy of the answer: all less the C++ run"
    return {
        "run": called(case, "Python", python, (ENTERING, entering, run)),
        "iobinding": called(case, "Python", copied, (ENTERING, entering, bound)),
    }


def _openvino(case: Case) -> dict[str, Ways]:
    def entering(held: Held) -> Infer:
        request = held.request
        request.get_input_tensor().data[:] = case.images
        run = super(type(request), request).infer  # without the wrapper in Python
        return lambda _: run({}, share_outputs=True, decode_strings=False)

    entered = (ENTERING, "a request of a model that returns ten floats", entering)
    python = "InferRequest.infer on an array, less a request whose tensors are set"
    copied = "copy of the image into its tensor and of the answer: the call less the request"
    return {
        "infer": called(case, "Python", python, entered),
        "tensors": called(case, "Python", copied, entered),
    }


def _tflite(case: Case) -> dict[str, Ways]:
    """The interpreters; TFLite Micro's overwrites its image, so each run sets it again."""
    images = case.images[..., None]

    def of(python: str, run: Inside, cpp: str, below: Inside) -> Ways:
        return called(
            case,
            "arrays",
            "copies of the image and of the answer: the call less the run",
            ("Python", f"{python}, less {cpp} in C++", run),
            (ENTERING, f"{cpp} of a model that returns ten floats", below),
            form=Form(in_full=True),
        )

    def by_index(held: Held) -> Infer:
        capsules = [[one.capsule for one in buffers] for buffers in (held.inputs, held.outputs)]
        run = held.model._model.RunByIndex
        return lambda _: (run(0, *capsules), held)  # which keeps the buffers

    def micro(held: Held) -> Infer:
        below = held.model._interpreter
        return lambda _: (below.SetInputTensor(images, 0), below.Invoke())

    return {
        "interpreter": of(
            "Interpreter.invoke",
            lambda held: lambda _: held.model.invoke(),
            "Invoke",  # which refuses to run if another object holds the model's `_interpreter`
            lambda held: lambda _: held.model._interpreter.Invoke(),
        ),
        "compiled": of(
            "CompiledModel.run_by_index",
            lambda held: lambda _: held.model.run_by_index(0, held.inputs, held.outputs),
            "RunByIndex",
            by_index,
        ),
        "": of(
            "Interpreter.set_input and invoke",
            lambda held: lambda _: (held.model.set_input(images, 0), held.model.invoke()),
            "SetInputTensor and Invoke",
            micro,
        ),
    }


def _torch(case: Case) -> dict[str, Ways]:
    import torch

    from . import inductor

    place, example = "cuda" if case.on_gpu else "cpu", case.placed.get("example")
    with torch.inference_mode():
        x = example(place) if example else torch.from_numpy(case.images[:, None]).to(place)

    def on_tensor(held: Held) -> Infer:
        model = held.model
        return case.waiting(inductor.inferring(lambda: model(x)))

    arrays = "inference mode, array to tensor and back: the call, less the model on a tensor"
    entered = (ENTERING, "a model that does nothing, on a tensor", on_tensor)
    plain = called(case, "Python", arrays, entered, form=EAGER)
    eager = dict.fromkeys(("eager", "contiguous"), plain)
    if case.on_gpu:
        compiled = ("compile", "export", "torchscript")
        return eager | dict.fromkeys(compiled, _whole(case, COMPILED))

    def in_cpp(python: str, code: str, below: Any, **more: Any) -> Ways:
        way = (ENTERING, code, lambda held: below(held.model, x))
        return called(
            case, "arrays", arrays, ("Python", python, on_tensor), way, form=COMPILED, **more
        )

    return eager | {
        "torchscript": called(case, "Python", arrays, entered, form=COMPILED),
        "compile": in_cpp(
            "the compiled module, less Inductor's code in it: Dynamo's guards",
            "Inductor's code of a module that returns ten floats",
            inductor.below_dynamo,
        ),
        "export": in_cpp(
            "the package's call, less its loader in C++",
            "a package that returns ten floats, called by its loader",
            inductor.below_package,
            others=inductor.keeping(case),
        ),
    }


def _tensorflow(case: Case) -> Mapping[str, Ways]:
    from . import graphs

    return graphs.of_tensorflow(case)


def _keras(case: Case) -> Mapping[str, Ways]:
    import keras

    below = keras.config.backend()
    compiled = dict.fromkeys(("compile", "jit"), _whole(case, COMPILED))
    if below == "openvino" and case.variant == "call":  # it compiles the layers in each call
        return {"call": _whole(case, COMPILED)}
    if below == "tensorflow" and case.variant != "call":
        from . import graphs

        return graphs.of_keras(case)
    images = case.images[..., None]
    x = keras.tree.map_structure(keras.ops.convert_to_tensor, images)

    def computing(infer: Infer) -> Infer:
        if below == "torch":
            import torch

            infer = torch.no_grad()(infer)
        return case.waiting(infer)

    def calling(held: Held) -> Infer:
        model = held.model
        return computing(lambda _: model(x))

    def one_by_one(held: Held) -> Infer:
        every = [one for one in held.model.layers if not hasattr(one, "batch_shape")]

        def infer(_: Any) -> Any:
            y = x
            for layer in every:
                y = layer(y)
            return y

        return computing(infer)

    layers: tuple[Below, ...] = ((ENTERING, "a model without layers", calling),)
    if case.network.is_chain:
        layers = (
            ("model", "the model on a tensor, less its layers one by one", calling),
            (ENTERING, "no layer at all", one_by_one),
        )
    evidence = "predict_on_batch of a model that does nothing"
    arrays = "the model from array to array, less that on a tensor"
    loop = "predict on an array, less predict_on_batch"
    entered = (ENTERING, evidence, lambda held: lambda _: held.model.predict_on_batch(images))
    form = EAGER if below == "torch" else Form(held=True)
    return compiled | {
        "call": called(case, "arrays", arrays, *layers, form=EAGER),
        "predict": called(case, "loop", loop, entered, form=form),
        "predict_on_batch": called(case, ENTERING, evidence, form=form),
    }


_OWN: dict[str, Callable[[Case], Mapping[str, Ways]]] = {
    "jax": _jax,
    "keras": _keras,
    "litert": _tflite,
    "numpy": _numpy,
    "onnxruntime": _onnxruntime,
    "openvino": _openvino,
    "tensorflow": _tensorflow,
    "tflite_micro": _tflite,
    "torch": _torch,
}
