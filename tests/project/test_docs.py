"""The documents say what is true: links lead somewhere, commands exist, examples run."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
from pathlib import Path
from types import ModuleType

import numpy as np
import onnx
import pytest
from click.testing import CliRunner
from onnx import TensorProto, helper, numpy_helper
from support import ESPCN, ROOT
from support.cpp_runtime import need, run

import shadergen
from shadergen.compiler import driver
from shadergen.compiler.cli import cli
from shadergen.compiler.options import Options
from shadergen.errors import CODES, CURES

DOCUMENTS = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("examples/*/*.md")]
)
ESTIMATED = ("espcn", "upscale", "denoise")  # in the tables of times for video players
CONSOLE = re.compile(r"```console\n(.*?)```", re.DOTALL)


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def blocks(name: str, language: str) -> list[str]:
    """Return the fenced blocks of a language in a document."""
    return re.findall(rf"```{language}\n(.*?)```", text_of(ROOT / name), re.DOTALL)


def anchors(path: Path) -> set[str]:
    """Return the anchors of a document's headings, as web pages of the source make them."""
    heads = re.findall(r"^#+ +(.+)$", text_of(path), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.fixture(scope="module")
def make_docs() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_docs", ROOT / "tools" / "make_docs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated_parts_are_up_to_date(make_docs: ModuleType) -> None:
    stale = [p.name for p in make_docs.documents() if make_docs.updated(text_of(p)) != text_of(p)]
    assert not stale, "run: python tools/make_docs.py"


def test_every_generated_part_stands_in_a_document(make_docs: ModuleType) -> None:
    used = {m[1] for p in make_docs.documents() for m in make_docs.PART.findall(text_of(p))}
    assert used == set(make_docs.PARTS)


def table_rows(name: str) -> list[list[str]]:
    """Return the cells of all table rows in a document."""
    lines = (line for line in text_of(ROOT / name).splitlines() if line.startswith("| "))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_comparison_shows_the_ratios_of_the_page_on_user_shaders() -> None:
    """comparison.md leaves out one GPU: its ratios are a part of those of players-compared.md."""
    whole = {
        cells[0].split(",")[0]: re.findall(r"\((\d\.\d+)\)", " ".join(cells[1:]))
        for cells in table_rows("docs/players-compared.md")
        if ", `--device`" in cells[0]
    }
    shown = {cells[0]: cells[1:] for cells in table_rows("docs/comparison.md") if cells[0] in whole}
    assert set(shown) == set(whole)
    for network, cells in shown.items():
        ratios = [re.findall(r"\d\.\d+", cell)[0] for cell in cells]
        found = iter(whole[network])
        assert all(ratio in found for ratio in ratios), network  # in the same order


def test_video_tutorial_shows_the_times_of_the_page_on_user_shaders() -> None:
    """tests/project/test_players_table.py compares that page with ``inspect``."""
    times = {
        (network, options): [rtx, deck]
        for network, options, _, _, rtx, deck, *_ in (
            row for row in table_rows("docs/players.md") if len(row) == 8
        )
    }
    shown = [row for row in table_rows("docs/tutorials/video.md") if row[0] in ESTIMATED]
    assert len(shown) == 2 * len(ESTIMATED)
    assert all(times[network, options] == cells for network, _, options, *cells in shown)


def test_every_error_code_is_documented() -> None:
    assert set(re.findall(r"^\| `(SG\d+)`", text_of(ROOT / "docs/errors.md"), re.M)) == set(CODES)
    assert set(CURES) == set(CODES)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_relative_links_lead_somewhere(path: Path) -> None:
    prose = re.sub(r"```.*?```", "", text_of(path), flags=re.DOTALL)
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", prose):
        if re.match(r"[a-z]+:", link):
            continue
        file, _, anchor = link.partition("#")
        target = (path.parent / file).resolve() if file else path
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert not broken


def native_options(program: str = "*") -> set[str]:
    """Return the options of a program of examples/native, or of them all."""
    sources = (ROOT / "examples" / "native" / "src").glob(f"{program}.cpp")
    return {o for path in sources for o in re.findall(r'== "(--[a-z]+)"', text_of(path))}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_commands_shown_exist(path: Path) -> None:
    targets = set(re.findall(r"^(\w+):", text_of(ROOT / "Makefile"), re.M))
    wrong = []
    lines = re.findall(r"^\$ (.+)$", "\n".join(CONSOLE.findall(text_of(path))), re.M)
    for line in (part for shown in lines for part in re.split(r" && | \| ", shown)):
        program, *words = shlex.split(line)
        if program.startswith("native/"):
            known = native_options(program.partition("/")[2])
            wrong += [f"{line}: {w}" for w in words if w.startswith("--") and w not in known]
        elif program == "cmake" and "-S" in words:
            listed = f"{words[words.index('-S') + 1]}/CMakeLists.txt"
            shown_here = f'title="{listed}"' in text_of(path)
            wrong += [] if shown_here or (ROOT / listed).is_file() else [line]
        elif program == "make":
            wrong += [line for w in words if "=" not in w and w not in targets]
        elif program == "python":
            script = ROOT / words[0]
            wrong += [] if script.is_file() or (script / "__main__.py").is_file() else [line]
        elif program == "shadergen":
            known = {o for p in cli.commands[words[0]].params for o in p.opts}
            known.add("-")  # standard input, and standard output
            wrong += [f"{line}: {w}" for w in words if w.startswith("-") and w not in known]
        else:
            others = (
                "pip install .",
                "pip install '.[",
                "sudo apt-get install ",
                "cmake --build ",
                "ffmpeg ",
                "mpv ",
                "rustc ",
                "mkdir ",
                "cp ",
            )
            wrong += [] if line.startswith(others) else [line]
    assert not wrong


MPV_OPTIONS = {
    *("--vo", "--profile", "--scale", "--window-scale", "--glsl-shaders"),
    *("--linear-downscaling", "--linear-upscaling"),
}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_options_named_in_prose_exist(path: Path) -> None:
    known = {o for c in cli.commands.values() for p in c.params for o in p.opts} | {"--help"}
    known |= MPV_OPTIONS | {"--pl-user-shader"}  # VLC's
    known |= native_options()
    assert set(re.findall(r"`(--[a-z][a-z0-9-]*)", text_of(path))) <= known


def test_shader_shown_is_what_the_compiler_writes(tmp_path: Path) -> None:
    shadergen.compile_model(ESPCN, tmp_path / "build", input_size="360x640", validate=False)
    lines = iter(text_of(tmp_path / "build" / "shaders" / "00_conv1.frag").splitlines())
    (shown,) = blocks("README.md", "glsl")
    missing = [s for s in shown.splitlines() if s != "..." and s not in lines]  # in this order
    assert not missing


def test_schedule_shown_is_part_of_a_build(tmp_path: Path) -> None:
    options = {"input_size": "36x64", "weights": "ubo", "validate": False}
    shadergen.compile_model(ESPCN, tmp_path / "build", **options)
    real = json.loads(text_of(tmp_path / "build" / "schedule.json"))
    for gpu_pass in real["passes"]:
        for member in ("kernel", "layers", "weights", "macs", "bytes", "work"):
            del gpu_pass[member]  # these are for people and tools
        for read in gpu_pass["reads"]:
            del read["fetches"]
        for block in gpu_pass["blocks"]:
            del block["loads"]
    shown = json.loads(blocks("docs/schedule.md", "json")[0])
    assert list(shown) == ["textures", "buffers", "passes"]
    assert all(entry in real[member] for member, entries in shown.items() for entry in entries)


def test_error_shown_is_what_the_compiler_prints(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (shown,) = blocks("docs/errors.md", "console")
    monkeypatch.chdir(ROOT)
    with pytest.raises(shadergen.ShadergenError) as caught:
        driver.compile_model(Path("examples/espcn/espcn_x2.h5"), tmp_path / "build", Options())
    assert shown.partition("\n")[2] == caught.value.render() + "\n"


# What the application would have beside the examples.
CPP_AROUND = """
extern "C" shadergen::Function eglGetProcAddress(const char*);
int fail(const std::string&);
void show(unsigned), render();
bool drawing();
extern unsigned camera, rendered;
extern float matrix[16];
extern shadergen::Runner runner, first, second;
extern shadergen::Options options;
extern shadergen::Result<shadergen::Build> loaded;
"""


def test_cpp_examples_compile(tmp_path: Path) -> None:
    need("c++")
    source = ["#include <shadergen/shadergen.hpp>", CPP_AROUND]
    for number, example in enumerate(blocks("docs/embedding.md", "cpp")):
        body = re.sub(r"^#include .*$", "", example, flags=re.M)
        source.append(f"int example_{number}() {{\n{body}\nreturn 0;\n}}")
    assert len(source) > 3
    (tmp_path / "examples.cpp").write_text("\n".join(source), "utf-8")
    include = ROOT / "runtime_glue" / "cpp" / "include"
    run("c++", "-std=c++17", "-fsyntax-only", "-Wall", "-I", include, tmp_path / "examples.cpp")


C_AROUND = """
shadergen_function eglGetProcAddress(const char *);
int fail(const char *);
void show(unsigned);
extern unsigned camera;
"""


def test_c_examples_compile(tmp_path: Path) -> None:
    need("cc")
    source = ["#include <shadergen/shadergen.h>", C_AROUND]
    manual = text_of(ROOT / "runtime_glue/cpp/include/shadergen/shadergen.h").partition("*/")[0]
    shown = re.search(r"^( +)#include <shadergen/.*?(?=^   \S)", manual, re.M | re.S)
    assert shown
    around_manual = "const int drawing = 0; const unsigned camera_texture = 1;"
    examples = [*blocks("docs/embedding.md", "c"), around_manual + "\n" + shown[0]]
    assert len(examples) > 1
    for number, example in enumerate(examples):
        body = re.sub(r"^ *#include .*$", "", example, flags=re.M)
        source.append(f"int example_{number}(void) {{\n{body}\nreturn 0;\n}}")
    (tmp_path / "examples.c").write_text("\n".join(source), "utf-8")
    include = ROOT / "runtime_glue" / "cpp" / "include"
    flags = ["-std=c99", "-fsyntax-only", "-Wall", "-Werror"]
    run("cc", *flags, "-I", include, tmp_path / "examples.c")


def test_shaders_to_embed_compile(tmp_path: Path) -> None:
    need("glslangValidator")
    shaders = blocks("docs/embedding.md", "glsl")
    assert shaders
    for number, shader in enumerate(shaders):
        path = tmp_path / f"{number}.frag"
        path.write_text(shader, "utf-8")
        run("glslangValidator", path)


@pytest.mark.gl
def test_pytorch_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnxscript")
    torch = pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    in_python, export, _ = blocks("README.md", "python")
    model, image = torch.nn.Conv2d(3, 4, 3), torch.rand(1, 3, 360, 640)
    names = {"torch": torch, "shadergen": shadergen, "model": model, "image": image}
    exec(compile(in_python, "README.md", "exec"), names)
    want = model(image).detach().numpy()
    np.testing.assert_allclose(names["result"], want, atol=1e-5)
    assert shadergen.load("build").inputs[0].shape == (1, 3, 360, 640)
    exec(compile(export, "README.md", "exec"), names)
    assert shadergen.verify("model.onnx", reference="onnxruntime").ok


@pytest.mark.gl
def test_python_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    images = pytest.importorskip("PIL.Image")
    monkeypatch.chdir(tmp_path)
    shadergen.compile_model(ESPCN, "build", input_size="36x64", validate=False)
    images.fromarray(np.zeros((36, 64, 3), np.uint8)).save("photo.png")
    *_, example = blocks("README.md", "python")
    exec(compile(example, "README.md", "exec"), {})
    assert images.open("luma_x2.png").size == (128, 72)


def played(build: Path, array: np.ndarray) -> np.ndarray:
    from shadergen.runtime_glue.python import HeadlessContext, Runner

    with HeadlessContext() as context, Runner(shadergen.load(build), context) as runner:
        runner.upload(runner.build.inputs[0].name, array)
        runner.run()
        return runner.read(runner.build.outputs[0].name)


def test_network_for_players_compiles_as_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("onnxscript")
    pytest.importorskip("skimage")
    monkeypatch.chdir(tmp_path)
    training, interface = blocks("docs/players.md", "python")
    code = training.replace("range(600)", "range(2)") + interface
    exec(compile(code, "docs/players.md", "exec"), {})
    (tmp_path / "net.glsl").unlink()  # written from Python
    # others need FFmpeg, see tests/cli
    shown = [b for b in blocks("docs/players.md", "console") if "compile net.onnx" in b]
    for options, text in zip(([], ["--device", "amd-rdna"]), shown, strict=True):
        words = ["compile", "net.onnx", "--target", "mpv", *options, "-o", "net.glsl"]
        assert f"$ shadergen {' '.join(words)}\n" in text
        ran = CliRunner().invoke(cli, words)
        assert ran.exit_code == 0
        for line in ran.output.splitlines():
            assert re.sub(r"[\d.]+ KiB$", "", line) in text  # the weights differ, and their digits


def test_user_shader_shown_is_what_the_compiler_writes() -> None:
    (shown,) = blocks("docs/players.md", "glsl")
    assert shown in text_of(ROOT / "tests" / "golden" / "user_shaders" / "luma_x2.glsl")


@pytest.mark.gl
def test_keras_definitions_shown_mean_what_they_say(tmp_path: Path) -> None:
    keras = pytest.importorskip("keras")
    ops, layers = keras.ops, keras.layers

    class Swoosh(layers.Layer):
        def __init__(self, beta: float = 1.0, **rest: object) -> None:
            super().__init__(**rest)
            self.beta = beta

        def call(self, x: object) -> object:
            return x * ops.sigmoid(self.beta * x)

        def get_config(self) -> dict[str, object]:
            return {**super().get_config(), "beta": self.beta}

    def shuffle(x: object) -> object:  # of 4 channels, as TensorFlow's depth_to_space
        x = ops.transpose(ops.reshape(x, (1, 6, 10, 2, 2)), (0, 1, 3, 2, 4))
        return ops.reshape(x, (1, 12, 20, 1))

    model = keras.Sequential(
        [
            keras.Input((6, 10, 3), batch_size=1),
            layers.Conv2D(4, 3, padding="same"),
            Swoosh(beta=1.5),
            layers.Lambda(shuffle, name="shuffle"),
        ]
    )
    path, definitions = tmp_path / "model.keras", tmp_path / "keras.ops"
    model.save(path)
    definitions.write_text(blocks("docs/expressions.md", "ops")[0], "utf-8")
    shadergen.compile_model(path, tmp_path / "build", define=definitions)
    x = np.random.default_rng(0).random((1, 6, 10, 3), np.float32)
    expected = keras.ops.convert_to_numpy(model(x))
    assert np.abs(played(tmp_path / "build", x) - expected).max() < 1e-5


@pytest.mark.gl
def test_onnx_definition_shown_means_what_it_says(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    w = rng.normal(0, 0.3, (12, 3, 1, 1)).astype(np.float32)
    attributes = {"domain": "com.example", "upscale": 2}
    graph = helper.make_graph(
        [
            helper.make_node("Conv", ["x", "w"], ["c"]),
            helper.make_node("PixelShuffle", ["c"], ["y"], name="shuffler", **attributes),
        ],
        "custom",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 5, 7])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 3, 10, 14])],
        [numpy_helper.from_array(w, "w")],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.example", 1)]
    path, definitions = tmp_path / "model.onnx", tmp_path / "onnx.ops"
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    definitions.write_text(blocks("docs/expressions.md", "ops")[1], "utf-8")
    shadergen.compile_model(path, tmp_path / "build", define=definitions)
    x = rng.random((1, 3, 5, 7), np.float32)
    c = np.einsum("oi,nihw->nohw", w[:, :, 0, 0], x)
    expected = c.reshape(1, 3, 2, 2, 5, 7).transpose(0, 1, 4, 2, 5, 3).reshape(1, 3, 10, 14)
    assert np.abs(played(tmp_path / "build", x) - expected).max() < 1e-5
