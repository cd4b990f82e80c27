"""The lines to copy: what loads a model of the user's own with a backend, and calls it."""

import re
from collections.abc import Mapping
from functools import cache, partial
from json import dumps
from keyword import iskeyword
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..registry import find, without_version
from .callers import CALLERS

Forms = Mapping[str, tuple[str, tuple[int, ...]]]  # type and shape of each input, by its name

#: How each kind of file names an input in its own form for another engine.
_NAMED = dict.fromkeys((("keras", ".tflite"), ("tensorflow", ".tflite")), "serving_default_{}:0")
#: Engines that take a file for what its name says.
_BY_SUFFIX = {".tflite": ("openvino",), ".onnx": ("tvm", "iree", "opencv", "mnn:module")}
_LOADED = {
    "keras": "keras.models.load_model({file!r})",
    "torch program": "torch.export.load({file!r}).module()",
    "torch package": "torch._inductor.aoti_load_package({file!r})",
    "torch model.py": "{name}().eval()",
}
#: What a converter is told of the inputs.
_SHAPES = {
    "keras": 'keras.InputSpec(dtype="{kind}", shape={shape}, name={name})',
    "tensorflow": 'tf.TensorSpec({shape}, "{kind}", {name})',
}
#: A name as Python reads it, whatever it holds.
_quoted = partial(dumps, ensure_ascii=False)


def program(
    name: str,
    kind: str,
    file: str,
    forms: Forms,
    threads: int,
    suffix: str = "",
    known: Mapping[str, Any] = MappingProxyType({}),
) -> str | None:
    """The program of a backend for a file of this kind; None where none is written.

    Its first word is the framework's. A `suffix` means that a backend reads the file converted so;
    of what is `known` of the model, `taken` are the inputs by place and by name, `signature` is the
    SavedModel's, and `below` is what Keras runs on.
    """
    _, lines = _of("torch:contiguous" if kind == "torch package" else name)
    if not lines:
        return None
    single = len(forms) == 1
    given = {one: "x" if single else f"x[{_quoted(one)}]" for one in forms}
    parts = ["import numpy as np"]
    framework, _, made = kind.partition(" ")
    row, reader = find(name)[0], framework
    own = row.variables_for(threads)
    if suffix and framework == "keras":
        own["KERAS_BACKEND"] = below = known.get("below", "tensorflow")
        reader = f"keras-{below}"
    if own:
        pairs = ", ".join(f'"{variable}": "{value}"' for variable, value in own.items())
        parts.insert(0, f"import os\n\nos.environ |= {{{pairs}}}")
    if threads and name.startswith(("torch", "keras-torch")):  # else PyTorch chooses
        first = "import torch\n\n"
        head, _, rest = lines.rpartition(first)
        lines = f"{head}{first}torch.set_num_threads(THREADS)\n{rest}"
    threads = row.threads_for(threads)
    if made == "model.py":
        path, _, function = file.partition(".py:")
        path, function = path.removesuffix(".py"), function or "get_model"
        folder, module = str(Path(path).parent), Path(path).name
        imported = f"from {module} import {function}"
        if not module.isidentifier() or iskeyword(module):
            imported = f"{function} = importlib.import_module({module!r}).{function}"
        standard = "import importlib\nimport sys" if "importlib" in imported else "import sys"
        parts.append(f"{standard}\n\nsys.path.insert(0, {folder!r})\n{imported}")
    arrays = {one: f'np.zeros({shape}, "{of}")' for one, (of, shape) in forms.items()}
    several = ", ".join(f"{_quoted(one)}: {array}" for one, array in arrays.items())
    parts.append(f"x = {arrays[next(iter(arrays))]}" if single else f"x = {{{several}}}")
    if name.startswith(_BY_SUFFIX.get(kind, ())) and Path(file).suffix != kind:
        parts.append(f'import shutil\n\nshutil.copy({file!r}, "model{kind}")')
        file = f"model{kind}"
    if suffix:
        converting = _of(f"{reader} to {suffix}")[1]
        parts += [_filled(converting, kind, file, forms, given, threads, known)]
        file = f"model{suffix}"
    if (framework, suffix) == ("keras", ".onnx"):  # which has them by name
        forms, given = dict(sorted(forms.items())), dict(sorted(given.items()))
    named = _NAMED.get((framework, suffix), "{}")
    if single and (reader, suffix) == ("keras-torch", ".xml"):
        named = "input"  # PyTorch's tensors have no names
    fed = {named.format(one): value for one, value in given.items()}
    return "\n\n".join([*parts, _filled(lines, kind, file, forms, fed, threads, known)]) + "\n"


def call_of(name: str) -> str | None:
    """A framework's call in short: model.predict(x)."""
    return _of(name)[0] or None


def suffix_of(name: str) -> str:
    """Of the file that an engine reads."""
    engine = without_version(name)
    return next(suffix for suffix, callers in CALLERS.items() if engine in callers)


def _of(name: str) -> tuple[str, str]:
    """The call in short and the lines; Keras' calls are the same on each framework."""
    known, name = _sections(), without_version(name)
    return known.get(name) or known.get(re.sub("^keras-[a-z]+", "keras", name), ("", ""))


@cache
def _sections() -> dict[str, tuple[str, str]]:
    text = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8")
    parts = iter(re.split(r"^\[(.+?)\] ?(.*)\n", text, flags=re.MULTILINE)[1:])
    return {
        name: (short, lines.strip()) for name, short, lines in zip(parts, parts, parts, strict=True)
    }


def _filled(
    lines: str,
    kind: str,
    file: str,
    forms: Forms,
    fed: Mapping[str, str],
    threads: int,
    known: Mapping[str, Any],
) -> str:
    """The lines with what this model has in the place of words."""
    feed = ", ".join(f"{_quoted(name)}: {value}" for name, value in fed.items())
    told = _SHAPES.get(kind.partition(" ")[0], "")
    each = {
        name: told.format(kind=of, shape=shape, name=_quoted(name))
        for name, (of, shape) in forms.items()
    }
    shapes = ", ".join(each.values())
    facts = [
        ",".join([*map(str, shape), re.sub(r"(\w)\D+(\d)", r"\1\2", of)])  # 2,8,f32
        for of, shape in forms.values()
    ]
    if kind.startswith("keras") and len(each) > 1:
        shapes = f"{{{', '.join(f'{name!r}: {spec}' for name, spec in each.items())}}}"
    name = file.partition(".py:")[2] or "get_model"
    form = "torch.from_numpy({})" if kind.startswith("torch") else "{}"
    taken: Any = known.get("taken") or ((*fed,), {})
    by_place, by_name = (_spelled(one, fed, form) for one in taken)
    if by_name == "{}":  # as most models take them
        lines = re.sub(r", (\*\*|\w+=)?NAMED", "", lines)
    if by_place == "()":
        lines = lines.replace("*PLACED, ", "").replace("PLACED, example_kwarg", "example_kwarg")
    words = {
        "PLACED": by_place,
        "NAMED": by_name,
        "LOAD": _LOADED.get(kind, "{name}()").format(name=name, file=file),
        "TENSORS": f"({', '.join(f'torch.from_numpy({value})' for value in fed.values())},)",
        "FILE": repr(file),
        "SIGNATURE": _quoted(known.get("signature", "serving_default")),
        "THREADS": str(threads),
        "DRIVER": _quoted("local-sync" if threads == 1 else "local-task"),
        "FEED": f"{{{feed}}}",
        "LIST": f"[{', '.join(fed.values())}]",
        "SHAPES": f"[{shapes}]",
        "FACTS": repr(facts),
        "SIZES": repr({name: shape for name, (_, shape) in zip(fed, forms.values(), strict=True)}),
    }
    return re.sub(rf"\b({'|'.join(words)})\b", lambda word: words[word[0]], lines)


def _spelled(taken: Any, fed: Mapping[str, str], form: str) -> str:
    """Arguments of these inputs, or one that holds several."""
    if isinstance(taken, Mapping):
        parts = (f"{_quoted(name)}: {_spelled(one, fed, form)}" for name, one in taken.items())
        return f"{{{', '.join(parts)}}}"
    if isinstance(taken, (list, tuple)):
        return f"({''.join(f'{_spelled(one, fed, form)}, ' for one in taken).rstrip()})"
    return form.format(fed[taken])
