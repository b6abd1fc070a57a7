"""``report``: the page says what the schedule says, takes hostile names, and needs no network."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sys
from base64 import b64encode
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from onnx import helper
from support import ESPCN
from support.cli_models import SIZE, onnx
from support.picture_networks import chroma_from_luma, save
from support.report_pages import read_page

import shadergen as package
from shadergen.backends.devices.gpus import GPUS
from shadergen.compiler.player.outline import sections
from shadergen.compiler.report import page as page_content
from shadergen.number_texts import bytes_text, si_text

HOSTILE = "</script></style></template><img src=x onerror=alert(1)>\"'&{{7*7}}\u202e"
ONLY_INSIDE = re.compile(r"#[a-z0-9-]+")


@pytest.fixture
def report(shadergen, tmp_path):
    """Return a function that writes a report and reads it."""

    def write(*arguments):
        ran = shadergen("report", *arguments, "-o", tmp_path / "report.html")
        assert (ran.code, ran.err) == (0, "")
        return read_page(tmp_path / "report.html")

    return write


@pytest.fixture
def hostile(tmp_path) -> Path:
    """Return a model whose names are markup."""
    nodes = (
        helper.make_node("Conv", ["x", "w"], [HOSTILE], name=HOSTILE, pads=[1, 1, 1, 1]),
        helper.make_node("Relu", [HOSTILE], ["y"], name=f"{HOSTILE}2"),
    )
    return onnx(tmp_path, *nodes, w=np.ones((4, 4, 3, 3)))


def schedule_of(build):
    return json.loads((build / "schedule.json").read_text())


def shaders(page):
    return [template.text for template in page.all("template")]


def test_the_passes_are_those_of_the_schedule(report, build):
    page, schedule = report(build), schedule_of(build)
    rows = page.one("section", id="passes").rows()
    assert [row[:3] for row in rows] == [
        [str(k), p["name"], ", ".join(p["layers"])] for k, p in enumerate(schedule["passes"])
    ]
    assert [row[7] for row in rows] == [
        si_text(p["macs"]) if p["macs"] else "-" for p in schedule["passes"]
    ]
    assert [row[8] for row in rows] == [
        bytes_text(sum(p["bytes"].values())) for p in schedule["passes"]
    ]


def test_each_group_of_layers_has_its_passes_textures_and_shaders(report, build):
    page, schedule = report(build), schedule_of(build)
    sources = shaders(page)
    seen = []
    for article in page.all("article"):
        textures, passes = (table.rows() for table in article.all("table"))
        numbers = [int(row[0]) for row in passes]
        seen += numbers
        of_group = [schedule["passes"][k] for k in numbers]
        assert article.one("h3").text == ", ".join(of_group[0]["layers"])
        assert {row[1] for row in textures if row[0] != "writes"} == {
            r["texture"] for p in of_group for r in p["reads"]
        }
        assert {row[1] for row in textures if row[0] == "writes"} == {
            w["texture"] for p in of_group for w in p["writes"]
        }
        paths = list(dict.fromkeys(p["shader"] for p in of_group))
        shown = article.all("details")
        assert [d.one("summary").one("span").text for d in shown] == paths
        assert [sources[int(d.attributes["data-shader"])] for d in shown] == [
            (build / path).read_text() for path in paths
        ]
    assert seen == list(range(len(schedule["passes"])))


def test_shaders_are_highlighted(report, build):
    (first, *_) = report(build).all("template")
    texts = {(s.attributes["class"], s.text.strip()) for s in first.all("span")}
    assert ("p", "#version 300 es") in texts
    assert ("t", "vec4") in texts
    assert any(kind == "c" and text.startswith("//") for kind, text in texts)


def test_memory_counts_the_textures_in_use(report, build):
    bars = report(build).one("section", id="memory").one("svg").all("rect")
    # 16x24 texels: input of 4 bytes; conv1 and conv2 of 4 planes, conv3 of 1 plane, 16 bytes a
    # texel; and the output of 32x48 texels of 4 bytes
    plane = 16 * 24 * 16
    live = [plane // 4 + n * plane for n in (4, 8, 5, 2)]
    assert [bar.one("title").text.split(": ")[1] for bar in bars] == list(map(bytes_text, live))


def test_times_are_the_estimates_of_inspect(report, shadergen, build):
    page = report(build)
    found = shadergen("inspect", build, "--device", "gles30", "--json").json["estimates"]
    rows = page.one("section", id="time").rows()
    assert [row[0] for row in rows] == [f["gpu"] for f in found] == list(GPUS)
    assert [float(row[1]) for row in rows] == [
        pytest.approx(f["milliseconds"], rel=6e-3) for f in found
    ]
    cells = [row.all("td")[-1] for row in page.one("section", id="passes").all("tr")[1:]]
    for k, cell in enumerate(cells):
        assert list(map(float, cell.attributes["data-gpu"].split("|"))) == [
            pytest.approx(f["passes"][k]["milliseconds"], rel=6e-3) for f in found
        ]
    page = report(build, "--device", "adreno-6xx")
    assert [o.text for o in page.one("select").all("option")] == ["Adreno 630", "Adreno 640"]


def test_bars_of_times_are_logarithmic():
    one = {"gpu": "", "system": "", "milliseconds_uncached": 1, "limits": {}}
    frames = [SimpleNamespace(**one, milliseconds=ms) for ms in (0.2, 2, 20)]
    first, second, third = (frame["percent"] for frame in page_content._frames(frames))
    assert second - first == pytest.approx(third - second, abs=0.1)
    assert 10 < first < second < third == 100


def test_a_model_has_the_decisions_of_explain_in_place(report, shadergen, tmp_path):
    page = report(ESPCN, *SIZE)
    compiled = shadergen("compile", ESPCN, "-o", tmp_path / "b", *SIZE, "--explain", "--json").json
    wanted = [[d["step"], d["subject"], d["decision"], d["why"]] for d in compiled["decisions"]]
    assert page.one("section", id="decisions").rows() == wanted
    in_place = [
        row
        for article in page.all("article")
        for table in article.all("table")
        if table.one("caption").text == "Decisions of the compiler"
        for row in table.rows()
    ]
    assert sorted(in_place) == sorted(wanted)  # each is about a layer here
    assert page.one("h1").text == ESPCN.stem


def test_a_model_has_histograms_of_its_weights(report, build):
    articles = report(ESPCN, *SIZE).all("article")
    names = [[f.one("figcaption").text for f in article.all("figure")] for article in articles]
    assert [len(of_layer) for of_layer in names] == [2, 2, 1, 0]  # 4 biases of conv3 are too few
    assert names[0][0].startswith("conv1/kernel16x1x5x5, mean ")
    for figure in articles[0].all("figure"):
        bars = [float(bar.attributes["height"]) for bar in figure.all("rect")]
        assert len(bars) == 40
        assert max(bars) == 100
    assert not [f for article in report(build).all("article") for f in article.all("figure")]


def test_a_build_and_its_model_have_the_same_passes_and_shaders(report, build):
    of_build, of_model = report(build), report(ESPCN, *SIZE)
    assert shaders(of_build) == shaders(of_model)
    assert (
        of_build.one("section", id="passes").rows() == of_model.one("section", id="passes").rows()
    )
    assert not of_build.all("section", id="decisions")


def test_hostile_names_are_text(report, hostile, tmp_path):
    page = report(hostile)
    text = (tmp_path / "report.html").read_text()
    assert not page.all("img")
    assert len(page.all("script")) == len(page.all("style")) == 1
    assert "\u202e" not in text
    assert "49" not in page.one("h3").text
    shown = HOSTILE.replace("\u202e", r"\u202e")
    assert page.one("h3").text == f"{shown}, {shown}2"
    cards = page.all("a", **{"class": "card"})
    assert [shown in card.attributes["data-find"] for card in cards] == [True]


def test_hostile_files_of_a_build_are_text(report, build, tmp_path):
    folder = shutil.copytree(build, tmp_path / "copy")
    schedule = schedule_of(folder)
    schedule["model"] = HOSTILE
    del schedule["sha256"]
    (folder / "schedule.json").write_text(json.dumps(schedule))
    shader = folder / schedule["passes"][0]["shader"]
    shader.write_text(f"{shader.read_text()}\n// {HOSTILE}\x1b\n", "utf-8")
    page = report(folder)
    assert not page.all("img")
    assert len(page.all("script")) == 1
    assert shaders(page)[0].endswith("\\u202e\\x1b\n")


def test_nothing_is_loaded(report, hostile):
    page = report(hostile)
    for tag in ("link", "iframe", "object", "embed", "image", "use", "base"):
        assert not page.all(tag)
    elements = [e for name in ("a", "script", "svg", "path", "rect") for e in page.all(name)]
    for element in elements:
        for name, value in element.attributes.items():
            assert name not in ("src", "xlink:href")
            assert name != "href" or ONLY_INSIDE.fullmatch(value), value
            assert not name.startswith("on")
    style = page.one("style").text
    assert "url(" not in style.replace("url(#", "")
    assert "@import" not in style


def test_the_policy_allows_only_the_script_of_the_page(report, build):
    page = report(build)
    script = page.one("script").text
    digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = page.one("meta", **{"http-equiv": "Content-Security-Policy"}).attributes["content"]
    assert "default-src 'none'" in policy
    assert f"script-src 'sha256-{digest}'" in policy


@pytest.mark.parametrize(
    ("device", "says"), [("webgpu", "WGSL"), ("mali-valhall", "GLSL ES 3.1"), ("apple", "GLSL ES")]
)
def test_models_for_other_devices(report, device, says):
    page = report(ESPCN, *SIZE, "--device", device)
    assert says in page.one("main").text
    assert len(shaders(page)) > 1


def test_wgsl_is_highlighted_as_wgsl(report):
    (first, *_) = report(ESPCN, *SIZE, "--device", "webgpu").all("template")
    assert "fn" in {s.text.strip() for s in first.all("span", **{"class": "k"})}


def test_variants(report, shadergen, tmp_path):
    package.compile_model(
        ESPCN, tmp_path / "b", device="gles30,webgpu", input_size=(16, 24), validate=False
    )
    assert "generic build; others: webgpu" in report(tmp_path / "b").one("main").text
    page = report(tmp_path / "b", "--variant", "webgpu")
    assert all("@fragment" in text or "@compute" in text for text in shaders(page))
    ran = shadergen("report", tmp_path / "b", "--variant", "x", "-o", tmp_path / "r.html")
    assert ran.err.startswith("error[SG0605]: the build has no variant 'x'")


def test_dynamic_sizes_are_shown_at_the_defaults(report):
    page = report(ESPCN, "--input-size", "dynamic:16x24")
    assert "sizes: height 16 (1 to 2048), width 24 (1 to 2048)" in page.one("main").text
    assert page.one("section", id="passes").rows()[0][4] == "16x24"


def test_a_device_without_rates_has_no_estimates(report):
    page = report(ESPCN, *SIZE, "--device", "llvmpipe")
    assert "no estimates: no GPU of device profile 'llvmpipe' has published rates" in page.text
    assert not page.all("select")
    assert not page.all("section", id="time")


def test_a_build_of_an_earlier_version_has_no_estimates(report, shadergen, build, tmp_path):
    old = shutil.copytree(build, tmp_path / "old")
    schedule = schedule_of(old)
    schedule["version"] = "5.2"
    del schedule["sha256"]
    for p in schedule["passes"]:
        del p["work"]
    (old / "schedule.json").write_text(json.dumps(schedule))
    assert "no estimates: this build has schedule format 5.2" in report(old).text
    ran = shadergen("report", old, "--device", "nvidia", "-o", tmp_path / "r.html")
    assert ran.err.startswith("error[SG0301]: --device needs counts of operations and bytes")


def test_a_user_shader_is_refused_by_name(shadergen, tmp_path):
    shader = tmp_path / "net.glsl"
    assert shadergen("compile", ESPCN, "-o", shader, "--target", "mpv").code == 0
    ran = shadergen("report", shader, "-o", tmp_path / "r.html")
    assert ran.code == 2
    assert ran.err.startswith(f"error[SG0301]: '{shader}' is a user shader, not a build")
    assert "help: shadergen report MODEL --target mpv shows the passes" in ran.err
    assert not (tmp_path / "r.html").exists()


@pytest.mark.parametrize(
    ("model", "options"),
    [
        (lambda folder: ESPCN, ()),
        (lambda folder: ESPCN, ("--device", "videocore-6", "--weights", "texture")),
        (lambda folder: save(chroma_from_luma(), folder), ("--luma", "luma")),
    ],
    ids=("draws", "family", "luma"),
)
def test_a_model_as_a_user_shader(report, shadergen, tmp_path, model, options):
    model, shader = model(tmp_path), tmp_path / "net.glsl"
    options = "--target", "mpv", *options
    page = report(model, *options)
    assert shadergen("compile", model, "-o", shader, *options).code == 0
    codes = [part for part in sections(shader.read_text()) if part.startswith("//!HOOK")]
    found = shadergen("inspect", model, *options, "--json").json
    rows = page.one("section", id="passes").rows()
    assert [row[1] for row in rows] == [p["name"] for p in found["passes"]]
    uses = {}
    for article in page.all("article"):
        textures, *_, passes = (table.rows() for table in article.all("table"))
        numbers = [int(row[0]) for row in passes]
        shown = article.all("details")
        assert [d.one("summary").one("span").text for d in shown] == [f"pass {k}" for k in numbers]
        assert [shaders(page)[int(d.attributes["data-shader"])] for d in shown] == [
            codes[k] for k in numbers
        ]
        for _, name, *_, used in textures:
            uses.setdefault(name, (used, []))[1].extend(numbers)
    copies = [row for row in rows if row[1].startswith("copy of ")]
    inputs = range(len(copies))  # cards; then come those of the copies
    for name, (used, numbers) in uses.items():  # from the first pass that uses a texture on
        first, _, last = used.partition(" to ")
        assert {int(first), int(last or first)} <= set(numbers), name
    assert any("user shader on" in fact.text for fact in page.all("dd"))
    edges = [e.attributes for e in page.all("path") if "data-from" in e.attributes]
    read = {int(e["data-to"]) for e in edges if int(e["data-from"]) in inputs}
    assert read == {len(inputs) + k for k in inputs}  # what the player hands over is only copied


def test_bad_input_keeps_an_earlier_report(shadergen, report, build, tmp_path):
    report(build)
    output = tmp_path / "report.html"
    before = output.read_bytes()
    (tmp_path / "bad.onnx").write_bytes(b"\0" * 10)
    broken = shutil.copytree(build, tmp_path / "broken")
    (broken / schedule_of(build)["passes"][-1]["shader"]).unlink()
    for bad, code in (("bad.onnx", "SG01"), ("broken", "SG0505"), ("missing", "SG0502")):
        ran = shadergen("report", tmp_path / bad, "-o", output)
        assert ran.code == 2
        assert ran.err.startswith(f"error[{code}")
        assert output.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.onnx", "broken", "report.html"]


def test_a_file_that_is_no_report_is_kept(shadergen, build, tmp_path):
    (tmp_path / "notes.html").write_text("<p>mine</p>")
    ran = shadergen("report", build, "-o", tmp_path / "notes.html")
    assert ran.code == 2
    assert "error[SG0501]" in ran.err
    assert "exists and is not a report of shadergen" in ran.err
    assert (tmp_path / "notes.html").read_text() == "<p>mine</p>"


def test_options_of_compiling_need_a_model(shadergen, build, tmp_path):
    ran = shadergen("report", build, "--mrt", "2", "-o", tmp_path / "r.html")
    assert ran.err.startswith(f"error[SG0301]: --mrt needs a model: '{build}' is a compiled build")


def test_the_same_input_makes_the_same_bytes(report, build, tmp_path):
    report(build)
    before = (tmp_path / "report.html").read_bytes()
    report(build)
    assert (tmp_path / "report.html").read_bytes() == before


def test_without_pygments_the_message_says_how_to_install_it(
    shadergen, build, tmp_path, monkeypatch
):
    monkeypatch.setitem(sys.modules, "pygments.lexers", None)
    ran = shadergen("report", build, "-o", tmp_path / "r.html")
    assert ran.code == 2
    assert "error[SG0606]: highlighting shaders needs the Python package Pygments" in ran.err
    assert "shadergen[report]" in ran.err
