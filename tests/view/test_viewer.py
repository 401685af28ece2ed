"""The viewer in a real browser: what the page shows is what the trajectory holds."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from browsing import ARGUMENTS, CHROMIUM, Tab
from numpy.typing import NDArray

import linkwork
from linkwork import Trajectory
from linkwork.elements.bodies import Ground, SpatialBody
from linkwork.elements.kinds import Columns
from linkwork.elements.spatial import Spherical
from linkwork.errors import UsageError
from linkwork.model import Model
from linkwork.trajectory import Table
from linkwork.view import cell, page
from linkwork.view.page import BUNDLE, built, write

playwright = pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright")

pytestmark = [
    pytest.mark.skipif(not built(), reason="the viewer is not built: make viewer"),
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium: apt-get install chromium"),
]
HOSTILE = "</script><img src=x onerror=hacked=1><!--"


class Shown(Tab):
    """A page in the browser, with all that it said and asked for."""

    def __init__(self, tab: Any, file: Path) -> None:
        super().__init__(tab, file.as_uri(), ".stage canvas")

    def do(self, script: str) -> Any:
        found = self.tab.evaluate(f"(() => {{ const v = window.linkwork; return {script}; }})()")
        self.settle()
        return found

    def picture(self) -> NDArray[np.float64]:
        """The page as rows of red, green, blue from 0 to 255."""
        from PIL import Image

        with Image.open(io.BytesIO(self.tab.screenshot())) as image:
            return np.asarray(image.convert("RGB"), dtype=float)

    def line(self) -> float:
        """Where the line of the first plot is, of the width of the plot."""
        return float(
            self.tab.evaluate(
                """(() => { const line = document.querySelector(".now"), at = line.getBoundingClientRect();
                const box = line.parentElement.getBoundingClientRect();
                return (at.left + at.width / 2 - box.left) / box.width; })()"""
            )
        )


def renamed(motion: Trajectory, old: str, new: str) -> Trajectory:
    """The same motion with other names."""

    def changed(data: Any) -> Any:
        if isinstance(data, dict):
            return {changed(key): changed(value) for key, value in data.items()}
        if isinstance(data, list | tuple):
            return type(data)(changed(value) for value in data)
        return data.replace(old, new) if isinstance(data, str) else data

    tables = {kind: Table(Columns(*changed(tuple(x.columns))), x.values) for kind, x in motion.tables.items()}
    info = replace(motion.info, scene=changed(motion.scene))
    return replace(motion, name=new, tables=tables, model=None, info=info)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def motion() -> Trajectory:
    return linkwork.simulate(linkwork.load("slider_crank"), t_end=4.0)


@pytest.fixture(scope="module")
def file(motion: Trajectory, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("viewer") / "slider crank.html"
    write([motion], path)
    return path


@pytest.fixture
def shown(browser: Any, file: Path) -> Iterator[Shown]:
    tab = browser.new_page(viewport={"width": 1200, "height": 760}, color_scheme="light")
    yield Shown(tab, file)
    tab.close()


def test_the_page_opens_from_disk_without_asking_for_anything(shown: Shown, file: Path) -> None:
    """No error is reported, no request but that for the file is made, and the file is small."""
    shown.do("v.setTime(1.0)")
    assert shown.said == []
    assert shown.asked == [file.as_uri()]
    assert BUNDLE.stat().st_size < 1.5e6
    assert shown.tab.title().startswith("slider_crank")


def test_the_page_may_reach_nothing(shown: Shown) -> None:
    """The policy of the page refuses requests, and scripts that are not its own."""
    script = """new Promise((done) => {
        const refused = [];
        addEventListener("securitypolicyviolation", (event) => {
            refused.push(event.effectiveDirective);
            if (refused.length === 3) done(refused.sort());
        });
        fetch("http://127.0.0.1:9/").catch(() => 0);
        document.body.append(Object.assign(document.createElement("script"), { textContent: "window.hacked = 1" }));
        document.body.append(Object.assign(document.createElement("img"), { src: "http://127.0.0.1:9/x.png" }));
    })"""
    assert shown.tab.evaluate(script) == ["connect-src", "img-src", "script-src-elem"]
    assert shown.tab.evaluate("window.hacked") is None


def test_the_crank_is_drawn_where_it_is(shown: Shown, motion: Trajectory) -> None:
    """At two times the pin A, white with a dark rim, is where the data puts it, and no longer where it was.

    Its place on the screen follows from that of the fixed point O and from the bar that shows the scale.
    """
    shown.do("v.toggles.get('g').click()")  # no grid
    shown.do("v.toggles.get('n').click()")  # no names
    bar = shown.tab.locator(".scale")
    number, unit = bar.inner_text().split()
    pixels = bar.bounding_box()["width"] / (float(number) * {"m": 1.0, "cm": 0.01}[unit])  # per metre
    origin = np.array(shown.do("v.where('ground.O')"))
    rim = 0.72 * shown.do("v.results[0].data.drawing.unit") * pixels

    def pin(row: int) -> NDArray[np.int64]:
        at = origin + pixels * np.array([motion["crank.A.x"][row], -motion["crank.A.y"][row]])
        return np.array(np.round(at), dtype=int)

    pictures = {}
    rows = [0, 30]  # the crank has turned by 1.1 rad
    for row in rows:
        shown.do(f"v.setTime({motion.t[row]})")
        pictures[row] = shown.picture()
        x, y = pin(row)
        assert pictures[row][y, x].min() > 240, "the middle of the pin is white"
        for c, s in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            u, v = x + round(rim * c), y + round(rim * s)
            around = pictures[row][v - 1 : v + 2, u - 1 : u + 2].max(axis=2)  # places are rounded to pixels
            assert np.min(around) < 100, "its rim is dark"
    changed = np.abs(pictures[0] - pictures[30]).max(axis=2)
    for row in rows:
        x, y = pin(row)
        assert changed[y - 3 : y + 4, x - 3 : x + 4].max() > 25
    x, y = np.round(origin + np.array([0.0, 3.4 * rim])).astype(int)  # the support of O
    assert changed[y - 2 : y + 3, x - 2 : x + 3].max() == 0


@pytest.mark.slow
def test_scrubbing_and_playing_move_the_lines_of_the_plots(shown: Shown) -> None:
    """The line in a plot is at t / t_end of its width, wherever the time comes from."""
    half_pixel = 0.5 / 300
    for part in (0.25, 0.75):
        shown.do(f"v.setTime({4.0 * part})")
        assert shown.line() == pytest.approx(part, abs=2 * half_pixel)
    slider = shown.tab.locator("input.time").bounding_box()
    shown.tab.mouse.click(slider["x"] + 0.5 * slider["width"], slider["y"] + 0.5 * slider["height"])
    shown.settle()
    assert shown.line() == pytest.approx(0.5, abs=0.01)  # a click is good to a pixel or two of the slider
    shown.do("v.setSpeed(0.5)")
    shown.tab.keyboard.press("Escape")
    shown.do("v.setPlaying(true)")
    while shown.do("v.time") < 2.2:  # as its own policy forbids to wait for an expression
        assert shown.do("v.playing")
    shown.do("v.setPlaying(false)")
    assert shown.line() == pytest.approx(shown.do("v.time") / 4.0, abs=2 * half_pixel)
    plot = shown.tab.locator(".u-over").first.bounding_box()
    shown.tab.mouse.click(plot["x"] + 0.1 * plot["width"], plot["y"] + 20)
    shown.settle()
    assert shown.do("v.time") == pytest.approx(0.4, abs=8.0 / plot["width"])


def test_the_wheel_changes_the_scale_about_the_pointer(shown: Shown) -> None:
    """What is under the pointer stays there; dragging takes the picture along; `f` brings it back."""
    start = shown.do("v.where('crank.A')")
    before = shown.tab.locator(".scale").inner_text(), shown.tab.locator(".scale").bounding_box()["width"]
    shown.tab.mouse.move(*start)
    shown.tab.mouse.wheel(0, -400)
    shown.settle()
    # the pointer is at a whole pixel, and the scale nearly doubles
    assert shown.do("v.where('crank.A')") == pytest.approx(start, abs=1.0)
    assert (shown.tab.locator(".scale").inner_text(), shown.tab.locator(".scale").bounding_box()["width"]) != before
    shown.tab.mouse.down()
    shown.tab.mouse.move(start[0] + 30, start[1] - 20, steps=3)
    shown.tab.mouse.up()
    shown.settle()
    assert shown.do("v.where('crank.A')") == pytest.approx([start[0] + 30, start[1] - 20], abs=2.5)
    shown.tab.keyboard.press("f")
    shown.settle()
    assert shown.do("v.where('crank.A')") == pytest.approx(start, abs=1e-6)


def test_keys_step_through_the_rows(shown: Shown, motion: Trajectory) -> None:
    """Arrows go from row to row, space plays and pauses, home and end lead to the ends."""
    shown.tab.keyboard.press("ArrowRight")
    shown.tab.keyboard.press("ArrowRight")
    assert shown.do("v.time") == motion.t[2]
    shown.tab.keyboard.press("ArrowLeft")
    assert shown.do("v.time") == motion.t[1]
    shown.tab.keyboard.press("Space")
    assert shown.do("v.playing")
    shown.tab.keyboard.press("Space")
    assert not shown.do("v.playing")
    shown.tab.get_by_role("button", name="Names").click()  # which must not take the space bar for itself
    shown.tab.keyboard.press("Space")
    assert shown.do("v.playing && !v.shown.names")
    shown.tab.keyboard.press("Space")
    shown.tab.keyboard.press("End")
    assert shown.do("v.time") == motion.t[-1]
    shown.tab.keyboard.press("Home")
    assert shown.do("v.time") == 0.0


def test_pointing_gives_the_values_of_the_data(shown: Shown, motion: Trajectory) -> None:
    """The label of pin A holds place and velocity of the point and the reactions of the joint, to six digits."""
    row = 30
    shown.do(f"v.setTime({motion.t[row]})")
    x, y = shown.do("v.where('crank.A')")
    shown.tab.mouse.move(x, y)
    shown.settle()
    assert shown.tab.locator(".tip small").inner_text() == "A: revolute"
    body = shown.tab.locator(".tip strong").inner_text().removesuffix(".A")
    values = {}
    for line in shown.tab.locator(".tip tr").all():
        name, value, _unit = line.locator("th, td").all_inner_texts()
        values[name] = float(value)
    expected = {part: motion[f"{body}.A.{part}"][row] for part in ("x", "y", "vx", "vy")}
    expected |= {f"A.{part}": motion[f"reaction:A.{part}"][row] for part in ("x", "y")}
    assert {name: values[name] for name in expected} == pytest.approx(expected, rel=2e-3)  # four digits if small
    assert values["x"] == pytest.approx(expected["x"], rel=5e-6)
    # beside the pin, on the crank itself
    x, y = (0.5 * (a + b) for a, b in zip(shown.do("v.where('crank.A')"), shown.do("v.where('crank.O')"), strict=True))
    shown.tab.mouse.move(x, y)
    shown.settle()
    assert shown.tab.locator(".tip strong").inner_text() == "crank"
    assert f"{motion['crank.phi'][row]:.6g}"[:6] in shown.tab.locator(".tip").inner_text()


def test_legends_give_the_values_of_the_data(shown: Shown, motion: Trajectory) -> None:
    """Beside each curve stands its value at the time shown."""
    row = 17
    shown.do(f"v.setTime({motion.t[row]})")
    legend = dict(text.split("\n") for text in shown.tab.locator(".legend button").all_inner_texts() if "\n" in text)
    for name in ("crank.x", "slider.x", "rod.phi", "reaction:O.y"):
        assert float(legend[name]) == pytest.approx(motion[name][row], rel=1e-5)


def test_pointing_at_a_plot_reads_its_values(shown: Shown, motion: Trajectory) -> None:
    """Beside the pointer stand the time under it and the values of the curves then."""
    plot = shown.tab.locator(".u-over").first
    box = plot.bounding_box()
    shown.tab.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 20)
    lines = plot.locator(".reading > *").all_inner_texts()
    t = float(lines[0].removesuffix(" s"))
    assert t == pytest.approx(1.2, abs=4.0 / box["width"])
    drawn = shown.tab.locator(".panel").first.locator(".legend span").all_inner_texts()
    expected = [np.interp(t, motion.t, motion[name]) for name in drawn]
    assert [float(x) for x in lines[1:]] == pytest.approx(expected, rel=2e-5, abs=1e-9)


def test_one_quantity_is_drawn_over_another(shown: Shown, motion: Trajectory) -> None:
    """A chosen curve over crank.phi: its dot is where both are, and a click on the curve goes to that time."""
    for name in ("Positions", "Reactions", "Forces", "Energy"):
        chip = shown.tab.locator(".chips").get_by_role("button", name=name, exact=True)
        if chip.count() and chip.first.get_attribute("aria-pressed") == "true":
            chip.first.click()
    shown.tab.get_by_role("button", name="Curves…").click()
    shown.tab.locator(".chooser label", has_text=re.compile("^slider.vxm/s$")).click()
    shown.tab.locator(".chooser select").select_option("crank.phi")
    assert shown.tab.locator(".panel:visible").count() == 1
    x, y = motion["crank.phi"], motion["slider.vx"]
    places = {}
    plot = shown.tab.locator(".u-over").bounding_box()
    for row in (20, 70):
        shown.do(f"v.setTime({motion.t[row]})")
        dot = shown.tab.locator(".dot").bounding_box()
        places[row] = np.array([dot["x"] + 4, dot["y"] + 4])
        spread = [1.12 * np.ptp(values) for values in (x, y)]
        part = [
            (values[row] - values.min() + 0.06 * np.ptp(values)) / s for values, s in zip((x, y), spread, strict=True)
        ]
        expected = plot["x"] + part[0] * plot["width"], plot["y"] + (1 - part[1]) * plot["height"]
        assert places[row] == pytest.approx(expected, abs=1.5)
    shown.tab.mouse.click(*places[20])
    shown.settle()
    assert shown.do("v.time") == pytest.approx(motion.t[20], abs=2 * (motion.t[1] - motion.t[0]))


def test_instant_centres_lie_in_hinges(shown: Shown, motion: Trajectory) -> None:
    """That of crank and ground in O, of rod and crank in A, of the slider at no place: it does not turn."""
    shown.do(f"v.setTime({motion.t[40]})")
    shown.tab.keyboard.press("i")
    shown.settle()
    marks = {}
    for mark in shown.tab.locator(".pole").all():
        x, y = re.findall(r"-?[\d.]+", mark.get_attribute("style"))[:2]
        marks[mark.inner_text()] = float(x), float(y)
    host = shown.tab.locator(".host").bounding_box()
    for name, point in {"01": "ground.O", "12": "crank.A", "23": "slider.B"}.items():
        x, y = shown.do(f"v.where('{point}')")
        assert marks[name] == pytest.approx((x - host["x"], y - host["y"]), abs=0.2)
    assert "03" not in marks
    assert shown.said == []


@pytest.mark.slow
def test_the_velocity_polygon_is_drawn_to_scale(shown: Shown, motion: Trajectory) -> None:
    """The line from its pole to A is as long as the speed of A says by the bar below."""
    row = 40
    shown.do(f"v.setTime({motion.t[row]})")
    shown.tab.get_by_role("button", name="Velocity polygon").click()
    panel = shown.tab.locator(".polygon:visible")
    number, unit = panel.locator("p").inner_text().split()
    assert unit == "m/s"
    pixels = (
        panel.locator("p").bounding_box()["width"] / float(number) * 400 / panel.locator("svg").bounding_box()["width"]
    )
    rays = [[float(ray.get_attribute(k)) for k in ("x1", "y1", "x2", "y2")] for ray in panel.locator("line.ray").all()]
    lengths = [np.hypot(x2 - x1, y2 - y1) / pixels for x1, y1, x2, y2 in rays]
    speed = np.hypot(motion["crank.A.vx"][row], motion["crank.A.vy"][row])
    assert min(abs(length / speed - 1.0) for length in lengths) < 0.01


def test_arrows_show_velocities_and_reactions(shown: Shown, motion: Trajectory) -> None:
    """Arrows point the way the slider moves, and the way its guide pushes it: along it nothing, upwards its load."""
    row = 45
    shown.do(f"v.setTime({motion.t[row]})")
    x, y = np.round(shown.do("v.where('slider.B')")).astype(int)
    assert motion["slider.vx"][row] < -0.5
    assert motion["reaction:S.normal"][row] > 10.0

    def drawn(color: tuple[int, int, int], columns: slice, rows: slice) -> int:
        return int(np.all(np.abs(shown.picture()[rows, columns] - color) < 8, axis=2).sum())

    green, pink = (15, 138, 95), (194, 47, 122)
    left, right, across = slice(x - 60, x - 20), slice(x + 20, x + 60), slice(y - 3, y + 4)
    shown.tab.keyboard.press("v")
    shown.settle()
    assert drawn(green, left, across) > 20
    assert drawn(green, right, across) == 0
    shown.tab.keyboard.press("v")
    shown.tab.keyboard.press("r")
    shown.settle()
    assert drawn(pink, slice(x - 3, x + 4), slice(y - 60, y - 20)) > 20


def test_arrows_show_applied_forces(browser: Any, tmp_path: Path) -> None:
    """A spring that is stretched pulls its ends towards each other: along it, not beyond them."""
    text = """
    linkwork: 1
    name: spring
    gravity: [0, 0]
    ground: {points: {O: [0, 0]}}
    bodies: {ball: {mass: 1, inertia: 0.01, position: [2, 0], points: {P: [0, 0]}}}
    joints: {S: {type: prismatic, i: ground.O, j: ball.P, axis: [1, 0]}}
    forces: {spring: {type: spring-damper, i: ground.O, j: ball.P, stiffness: 0.01, free_length: 1}}
    """
    write([linkwork.simulate(linkwork.loads(text), t_end=1.0)], tmp_path / "page.html")
    tab = browser.new_page(viewport={"width": 1200, "height": 760}, color_scheme="light")
    shown = Shown(tab, tmp_path / "page.html")
    for key in "gn":  # neither grid nor names
        tab.keyboard.press(key)
    shown.settle()
    (left, y), (right, _) = (np.round(shown.do(f"v.where('{name}')")).astype(int) for name in ("ground.O", "ball.P"))
    before = shown.picture()
    tab.keyboard.press("a")
    shown.settle()
    changed = np.any(shown.picture() != before, axis=2)[y - 3 : y + 4]
    assert changed[:, left + 25 : left + 45].sum() > 20
    assert changed[:, right - 45 : right - 25].sum() > 20
    assert not changed[:, left - 45 : left - 25].any()
    assert not changed[:, right + 25 : right + 45].any()
    tab.close()


def test_values_are_shown_in_other_units(shown: Shown, motion: Trajectory) -> None:
    """`u` switches plots and labels to degrees and millimetres and back; arrows and drawing stay."""
    row = 45
    shown.do(f"v.setTime({motion.t[row]})")

    def told(name: str) -> float:
        rows = shown.do("v.stages[0].tellBody(v.results[0].bodies.get('crank')).rows")
        return float(next(value for label, value, _ in rows if label == name))

    assert "angle [rad]" in shown.tab.inner_text(".panels")
    assert told("phi") == pytest.approx(motion["crank.phi"][row])
    shown.tab.keyboard.press("u")
    shown.settle()
    assert "angle [deg]" in shown.tab.inner_text(".panels")
    assert "position [mm]" in shown.tab.inner_text(".panels")
    assert told("phi") == pytest.approx(np.degrees(motion["crank.phi"][row]))
    assert told("x") == pytest.approx(1000.0 * motion["crank.x"][row], abs=1e-9)
    shown.tab.keyboard.press("u")
    shown.settle()
    assert "angle [rad]" in shown.tab.inner_text(".panels")


def test_dark_and_narrow_pages(shown: Shown) -> None:
    """`d` turns the page dark; at the width of a phone nothing sticks out at the side."""
    assert shown.picture().mean() > 200
    shown.tab.keyboard.press("d")
    shown.settle()
    assert shown.picture().mean() < 60
    shown.tab.set_viewport_size({"width": 360, "height": 700})
    shown.settle()
    assert shown.tab.evaluate("document.documentElement.scrollWidth") <= 360
    box = shown.tab.locator(".stage canvas").bounding_box()
    assert box["width"] > 300
    assert box["height"] > 200


def test_a_hostile_name_is_only_a_name(browser: Any, tmp_path: Path) -> None:
    """A name that would end the script and run code is shown as text everywhere."""
    # model files refuse such a name, but a result may come from anywhere
    hostile = renamed(linkwork.simulate(linkwork.load("four_bar_redundant"), t_end=1.0), "coupler", HOSTILE)
    write([hostile], tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<img" not in text.split('id="data"')[1].split("</script>")[0]
    tab = browser.new_page()
    shown = Shown(tab, tmp_path / "page.html")
    for name in ("Velocities", "Accelerations", "Points", "Errors", "Curves…"):
        tab.get_by_role("button", name=name, exact=True).last.click()
    x, y = shown.do(f"v.where({json.dumps(HOSTILE + '.P')})")
    tab.mouse.move(x, y)
    shown.settle()
    assert tab.locator(".tip strong").inner_text() == f"{HOSTILE}.P"
    assert tab.locator(".names span").filter(has_text=f"{HOSTILE}.P").count() > 1
    assert tab.title().startswith(HOSTILE)
    assert any("redundant" in note for note in hostile.info.notes)
    assert tab.locator(".notes p").all_text_contents() == [*hostile.info.notes]
    assert tab.locator("img").count() == 0
    assert tab.evaluate("typeof hacked") == "undefined"
    assert shown.said == []
    assert len(shown.asked) == 1
    tab.close()


def test_two_results_side_by_side(browser: Any, motion: Trajectory, tmp_path: Path) -> None:
    """Two stages, and plots of the differences of the second from the first."""
    other = linkwork.simulate(linkwork.load("slider_crank", {"omega": "1.1 rad/s"}), t_end=4.0)
    write([motion, other], tmp_path / "two.html", ["one", "two"])
    tab = browser.new_page()
    shown = Shown(tab, tmp_path / "two.html")
    assert tab.locator(".stage canvas").count() == 2
    row = 20
    shown.do(f"v.setTime({motion.t[row]})")
    panel = tab.locator(".panel").filter(has_text=re.compile("difference of angle"))
    assert re.search("two . one$", panel.locator("h2").inner_text())
    legend = dict(text.split("\n") for text in panel.locator(".legend button").all_inner_texts())
    expected = other["crank.phi"][row] - motion["crank.phi"][row]
    assert float(legend["crank.phi"]) == pytest.approx(expected, rel=1e-4)
    assert shown.said == []
    tab.close()


@pytest.mark.slow
def test_a_notebook_shows_a_picture_that_moves_when_asked(browser: Any, motion: Trajectory) -> None:
    """The button puts the page into the cell, in a frame of its own; it plays."""
    tab = browser.new_page()
    tab.set_content(motion._repr_html_())
    assert tab.locator("img[alt=slider_crank]").evaluate("image => image.naturalWidth") > 100
    assert "slider_crank" in tab.locator("table").first.inner_text()
    tab.click("button")
    tab.wait_for_selector("iframe[sandbox=allow-scripts]")
    (frame,) = (frame for frame in tab.frames if frame != tab.main_frame)
    frame.wait_for_selector(".stage canvas")
    assert frame.evaluate("window.linkwork.results[0].data.name") == "slider_crank"
    frame.wait_for_function("window.linkwork.time > 0")
    tab.close()


def test_a_page_that_simulates_stands_in_a_cell(browser: Any, tmp_path: Path) -> None:
    """Its sliders move the motion, in a frame that reaches nothing; what is saved is the page of `view --live`."""
    made = linkwork.load("slider_crank").live_page({"l1": 0.9}, t_end=2.0)
    tab = browser.new_page()
    tab.set_content(made._repr_html_())
    tab.click("button:has-text('Try it')")
    tab.wait_for_selector("iframe[sandbox=allow-scripts]")
    (frame,) = (frame for frame in tab.frames if frame != tab.main_frame)
    frame.wait_for_selector(".live")
    shown = frame.evaluate(
        "live.set('l1', 1.1), live.picture(16), [...linkwork.results[0].quantities.get('rod.phi').values]"
    )
    expected = linkwork.simulate(linkwork.load("slider_crank", {"l1": 1.1}), t_end=2.0, coordinates="auto")
    np.testing.assert_allclose(shown, expected["rod.phi"], atol=1e-6)
    tab.close()
    made.save(tmp_path / "page.html")
    assert "'wasm-unsafe-eval'" in (tmp_path / "page.html").read_text()


@pytest.mark.slow
def test_a_page_begins_where_joints_are_said_to_start() -> None:
    """Bodies that the model leaves where they are follow their joints."""
    model = linkwork.load("pid_pendulum")
    assert model.simulation.start
    made = model.live_page(t_end=0.5)
    x = [made.program.about["closing"]["q"][k] for k in made.program.about["closing"]["bodies"]]
    assert x[0] == pytest.approx(linkwork.simulate(model, t_end=0.5)["arm.x"][0], abs=1e-12)


class Shell:
    """What a kernel tells of the cell that it runs."""

    def __init__(self) -> None:
        self.user_ns: dict[str, list[str]] = {"In": [""]}
        self.parent_header: dict[str, Any] = {}
        self.run = 0

    def runs(self, source: str, cell: str | None) -> None:
        self.run += 1
        self.user_ns["In"].append(source)
        self.parent_header = {"header": {"msg_id": str(self.run)}, "metadata": {"cellId": cell} if cell else {}}


@pytest.mark.parametrize("named", [True, False])
def test_one_cell_of_a_notebook_brings_the_viewer(
    browser: Any, motion: Trajectory, monkeypatch: pytest.MonkeyPatch, named: bool
) -> None:
    """The first one, also when it runs again, and one motion of it; what a cell without it says when there is none."""
    shell = Shell()
    monkeypatch.setattr(cell, "_brought", None)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))

    def shown(source: str) -> list[str]:
        shell.runs(source, source if named else None)
        return [motion._repr_html_() for _ in range(2)]

    whole, brief = shown("first")
    assert len(whole) > 250_000 > 2 * len(brief)
    assert shown("second") == [brief, brief]
    assert shown("first") == [whole, brief]
    tab = browser.new_page()
    tab.set_content(brief + brief)
    said = tab.locator("text=the first motion of this notebook").first
    assert not said.is_visible()
    tab.click("button >> nth=0")
    assert said.is_visible()
    tab.set_content(brief + whole)
    tab.click("button >> nth=0")
    tab.wait_for_selector("iframe")
    tab.close()


def test_without_scripts_a_notebook_shows_the_picture(browser: Any, motion: Trajectory) -> None:
    context = browser.new_context(java_script_enabled=False)
    tab = context.new_page()
    tab.set_content(motion._repr_html_())
    assert tab.locator("img[alt=slider_crank]").bounding_box()["width"] > 100
    context.close()


def test_events_are_marks_on_the_time_axis_and_a_list(browser: Any, tmp_path: Path) -> None:
    """Marks lie where the slider is at their times; an entry of the list goes there."""
    text = """linkwork: 1
bodies: {ball: {mass: 1, inertia: 1, position: [0, 1], velocity: [1, 0]}}
events:
  bounce: {when: "ball.y", direction: falling, action: set, restitution: 0.9}
  half: {when: "ball.x - 0.5"}
simulation: {t_end: 2}
"""
    motion = linkwork.simulate(linkwork.loads(text))
    assert set(motion.events.names) == {"bounce", "half"}
    write([motion], tmp_path / "events.html")
    tab = browser.new_page(viewport={"width": 1200, "height": 760}, color_scheme="light")
    shown = Shown(tab, tmp_path / "events.html")
    marks = tab.locator(".axis i")
    told = [marks.nth(k).get_attribute("title").split(", ") for k in range(marks.count())]
    assert [name for name, _ in told] == [*motion.events.names]
    np.testing.assert_allclose([float(t.removesuffix(" s")) for _, t in told], motion.events.t, rtol=1e-5)
    slider = tab.locator(".time").bounding_box()
    for k, t in enumerate(motion.events.t):
        box = marks.nth(k).bounding_box()
        assert box["x"] + box["width"] / 2 == pytest.approx(slider["x"] + 8 + (slider["width"] - 16) * t / 2, abs=1.0)
    tab.click("text=Events ▾")
    rows = tab.locator(".menu .names button")
    assert [rows.nth(k).locator("span").inner_text() for k in range(rows.count())] == [*motion.events.names]
    rows.nth(1).click()
    shown.settle()
    assert shown.do("v.time") == pytest.approx(motion.events.t[1])
    assert shown.said == []
    tab.close()


def test_long_results_are_thinned_and_say_so(motion: Trajectory) -> None:
    """Where columns would be too many, whole kinds are left out, the most important ones last."""
    columns, left_out = page._columns(motion, len(motion.t), len(motion.t) * 20)
    assert len(columns) <= 20
    assert {"crank.phi", "energy:drift", "error:position"} <= {name for name, _ in columns}
    assert "points" in left_out


def test_without_the_viewer_the_message_says_how_to_get_it(
    motion: Trajectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No page, one clear error; a notebook shows the summary alone."""
    monkeypatch.setattr(page, "BUNDLE", tmp_path / "viewer.html")
    with pytest.raises(UsageError, match=r"`make viewer` .* \[no-viewer\]"):
        motion.animate(tmp_path / "page.html")
    assert "iframe" not in motion._repr_html_()
    assert "slider_crank" in motion._repr_html_()


def test_a_spatial_mechanism_is_seen_from_anywhere(browser: Any, tmp_path: Path) -> None:
    """Points lie where the data puts them, whatever the eye; dragging turns the picture about it."""
    ground = Ground(points={"O": (0.0, 0.0, 0.0)})
    body = SpatialBody(
        "rod", 1.0, (0.1, 0.2, 0.1, 0.0, 0.0, 0.0), position=(0.5, 0.0, 0.0), velocity=(0.0, 0.6, 0.0),
        angular_velocity=(0.0, 0.0, 1.2), points={"O": (-0.5, 0.0, 0.0), "A": (0.5, 0.0, 0.2)},
    )  # fmt: skip
    joint = Spherical("O", ground, body, (0.0, 0.0, 0.0), (-0.5, 0.0, 0.0))
    model = Model("spatial", (body,), (joint,), gravity=(0.0, 0.0, -9.81), ground=ground, space="spatial")
    motion = linkwork.simulate(model, t_end=1.0)
    motion.animate(tmp_path / "page.html")
    tab = browser.new_page(color_scheme="light")
    shown = Shown(tab, tmp_path / "page.html")
    row = 70
    shown.do(f"v.setTime({motion.t[row]})")
    for _ in range(2):
        x, y = shown.do("v.where('rod.A')")
        tab.mouse.move(x, y)
        shown.settle()
        assert tab.locator(".tip strong").inner_text() == "rod.A"
        values = [float(tab.locator(".tip td").nth(2 * k).inner_text()) for k in range(3)]
        assert values == pytest.approx([motion[f"rod.A.{axis}"][row] for axis in "xyz"], rel=2e-3)
        patch = shown.picture()[round(y) - 4 : round(y) + 5, round(x) - 4 : round(x) + 5]
        assert patch.min() < 190, "the rod is drawn there"
        tab.mouse.move(300, 600)
        tab.mouse.down()
        tab.mouse.move(380, 560, steps=4)
        tab.mouse.up()
        shown.settle()
        assert np.hypot(*np.subtract(shown.do("v.where('rod.A')"), (x, y))) > 5.0
    assert shown.said == []
    tab.close()
