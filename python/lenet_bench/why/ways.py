"""How each API is called: its own functions above a network, by the module of its backend."""

from collections.abc import Callable
from functools import partial
from typing import Any

from ..experiment_names import ENTERING
from ..networks.pieces import Form
from . import Case, Infer, Way, Ways

EAGER = Form(in_full=True, eager=True)
COMPILED = Form(in_full=True, held=True)  # unused layers are left out, and arrays not copied
_TOO_LONG = ("autotuned", "cudagraph", "reduce_overhead")  # or captured once
ON_TENSOR = "the call on an array, less that on the API's own"


def ways_of(case: Case) -> Ways | None:
    """The ways of a variant; None where no pieces are made, as for ncnn, which cannot take ten."""
    of = _OWN.get(case.row.module)
    own = of(case) if of else None
    if own or case.row.module == "ncnn" or case.variant in _TOO_LONG:
        return own
    form = COMPILED if case.row.module in ("jax", "keras", "torch") else Form()
    return Ways(users(case, ENTERING, "the call of a network that does nothing"), form)


def users(case: Case, name: str, evidence: str) -> list[Way]:
    """The call as users make it, and without what all backends share."""

    def unchecked(made: Any) -> Infer:
        answer, images = made.answer, case.images
        return lambda _: answer(images)

    checks = "the call, less without the check of the image and the lock"
    return [Way("checks", checks, lambda made: made.infer), Way(name, evidence, unchecked)]


def _numpy(case: Case) -> Ways:
    return Ways(users(case, ENTERING, "a call of a function that returns its image"), EAGER)


def _jax(case: Case) -> Ways:
    import jax

    x = jax.device_put(case.images)

    def entering(made: Any) -> Infer:
        inside = made.inside()
        given = [inside["parameters"]] if case.variant == "arguments" else []
        program = inside["program"]
        return case.waiting(lambda _: program(*given, x))

    entered = Way(ENTERING, "a program that returns ten pixels", entering)
    return Ways([*users(case, "arrays", ON_TENSOR), entered], COMPILED)


def _onnxruntime(case: Case) -> Ways | None:
    python = {
        "run": "InferenceSession.run on an array, less the C++ session on a prepared one",
        "iobinding": "image in, run_with_iobinding, copy of the answer: all less the C++ run",
    }.get(case.variant)
    if python is None:
        return None
    feeds = {"image": case.images[:, None]}

    def entering(made: Any) -> Infer:
        inside = made.inside()
        session = inside["session"]._sess
        if case.variant == "iobinding":  # the binding keeps the bound arrays alive
            return lambda _: session.run_with_iobinding(inside["binding"]._iobinding, None)
        return lambda _: session.run(["probabilities"], feeds, None)

    entered = Way(ENTERING, "a run of a model that returns ten pixels", entering)
    return Ways([*users(case, "Python", python), entered])


def _openvino(case: Case) -> Ways | None:
    python = {
        "infer": "InferRequest.infer on an array, less a request whose tensors are set",
        "tensors": "copy of the image into its tensor and of the answer: the call less the request",
    }.get(case.variant)
    if python is None:
        return None

    def entering(made: Any) -> Infer:
        request = made.inside()["request"]
        request.get_input_tensor().data[:] = case.images
        run = super(type(request), request).infer  # without the wrapper in Python
        return lambda _: run({}, share_outputs=True, decode_strings=False)

    entered = Way(ENTERING, "a request of a model that returns ten pixels", entering)
    return Ways([*users(case, "Python", python), entered])


def _tflite(case: Case) -> Ways | None:
    """The interpreters; TFLite Micro's overwrites its image, so each run sets it again."""
    images, of = case.images[..., None], case.variant or case.row.module

    def runs(inside: Any) -> tuple[Infer, Infer]:
        model = inside["model"]
        if of == "interpreter":  # it refuses to run if another object holds its `_interpreter`
            return lambda _: model.invoke(), lambda _: model._interpreter.Invoke()
        if of == "compiled":
            given, answers = inside["inputs"], inside["outputs"]
            capsules = [[one.capsule for one in buffers] for buffers in (given, answers)]
            run = model._model.RunByIndex
            return (
                lambda _: model.run_by_index(0, given, answers),
                lambda _: (run(0, *capsules), given, answers),
            )
        below = model._interpreter
        return (
            lambda _: (model.set_input(images, 0), model.invoke()),
            lambda _: (below.SetInputTensor(images, 0), below.Invoke()),
        )

    named = {
        "interpreter": ("Interpreter.invoke", "Invoke"),
        "compiled": ("CompiledModel.run_by_index", "RunByIndex"),
        "tflite_micro": ("Interpreter.set_input and invoke", "SetInputTensor and Invoke"),
    }
    if of not in named:
        return None
    python, below = named[of]
    ways = [
        *users(case, "arrays", "copies of the image and of the answer: the call less the run"),
        Way("Python", f"{python}, less {below} in C++", lambda made: runs(made.inside())[0]),
        Way(
            ENTERING,
            f"{below} of a model that returns ten pixels",
            lambda made: runs(made.inside())[1],
        ),
    ]
    return Ways(ways, Form(in_full=True))


def _torch(case: Case) -> Ways | None:
    import torch

    from . import inductor

    variant, device = case.variant, "cuda" if case.on_gpu else "cpu"
    if variant not in (("eager",) if case.on_gpu else ("eager", "torchscript", *inductor.BELOW)):
        return None
    with torch.inference_mode():
        x = torch.from_numpy(case.images[:, None]).to(device)

    def on_tensor(made: Any) -> Infer:
        model = made.inside()["model"]
        return case.waiting(inductor.inferring(lambda: model(x)))

    arrays = "inference mode, array to tensor and back: the call, less the model on a tensor"
    if variant not in inductor.BELOW:
        eager = variant == "eager" and not case.on_gpu
        entered = Way(ENTERING, "a model that does nothing, on a tensor", on_tensor)
        return Ways([*users(case, "Python", arrays), entered], EAGER if eager else COMPILED)
    below, python, entering, others = inductor.BELOW[variant]
    ways = [
        *users(case, "arrays", arrays),
        Way("Python", python, on_tensor),
        Way(ENTERING, entering, lambda made: below(made.inside()["model"], x)),
    ]
    return Ways(ways, COMPILED, others(case))


def _tensorflow(case: Case) -> Ways | None:
    from . import graphs

    return graphs.of_tensorflow(case)


def _keras(case: Case) -> Ways | None:
    import keras

    below, variant = keras.config.backend(), case.variant
    if below == "openvino":
        return None
    if below == "tensorflow" and variant in ("predict", "predict_on_batch", "function"):
        from . import graphs

        return graphs.of_keras(case)
    images = case.images[..., None]
    eager = EAGER if below == "torch" else Form(held=True)

    def model_of(made: Any) -> Any:
        return made.inside()["model"]

    if variant == "call":

        def computing(infer: Infer) -> Infer:
            if below == "torch":
                import torch

                infer = torch.no_grad()(infer)
            return case.waiting(infer)

        x = keras.ops.convert_to_tensor(images)

        def calling(made: Any) -> Infer:
            model = model_of(made)
            return computing(lambda _: model(x))

        def one_by_one(made: Any) -> Infer:
            every = [one for one in model_of(made).layers if not hasattr(one, "batch_shape")]

            def infer(_: Any) -> Any:
                y = x
                for layer in every:
                    y = layer(y)
                return y

            return computing(infer)

        ways = users(case, "arrays", "the model from array to array, less that on a tensor")
        if not case.network.is_chain:
            return Ways([*ways, Way(ENTERING, "a model without layers", calling)], EAGER)
        evidence = "the model on a tensor, less its layers one by one"
        ways += [Way("model", evidence, calling), Way(ENTERING, "no layer at all", one_by_one)]
        return Ways(ways, EAGER)
    if variant not in ("predict", "predict_on_batch"):
        return None

    def on_batch(made: Any) -> Infer:
        return partial(lambda model, _: model.predict_on_batch(images), model_of(made))

    evidence = "predict_on_batch of a model that does nothing"
    ways = users(case, "loop", "predict on an array, less predict_on_batch")
    if variant == "predict_on_batch":
        return Ways(users(case, ENTERING, evidence), eager)
    return Ways([*ways, Way(ENTERING, evidence, on_batch)], eager)


_OWN: dict[str, Callable[[Case], Ways | None]] = {
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
