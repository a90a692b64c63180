"""Which view is in front where several share a place on the Step page."""

import pytest


@pytest.mark.slow
def test_a_page_that_opens_later_has_the_code_in_front(qtbot, qapp, ladder):
    """The first start shows the page Course: the views of this one all appear at once, later."""
    from gui.looks.theme import apply_theme
    from gui.shell.main_window import MainWindow

    apply_theme(qapp, "light")
    window = MainWindow(ladder)
    qtbot.addWidget(window)
    window.resize(1366, 768)
    window.show_page("course")  # without the left column: the views have more room for a moment
    window.show()
    qtbot.waitExposed(window)
    window.look_at_page("step")
    page = window.step_page
    qtbot.waitUntil(lambda: page.in_front("Source"))
    qtbot.wait(50)
    assert page.in_front("Source")
    assert window.session.view != "Variables"
    page.docks["Variables"].raise_()  # as a click on its tab does
    qtbot.waitUntil(lambda: window.session.view == "Variables")
    window.look_at_page("compare")
    window.look_at_page("step")
    qtbot.wait(50)
    assert window.session.view == "Variables"
    assert page.in_front("Variables")
