"""Learnt templates as YAML: every bound and mass is a number to those who read it, however small."""

from dataclasses import replace

import numpy as np
import yaml

from coincide import Histogram, Window
from coincide.learning import Learning, LearntTemplate, SensorStream, calibrate, errors_against
from coincide.learning.sensors_yaml import sensors_yaml
from coincide.templates.histogram import histogram_of_form


def test_small_numbers_are_numbers() -> None:
    times_us = np.arange(0, 100_000_000, 1_000_000)
    of = SensorStream("clock", "pulse")
    [one] = calibrate({of: errors_against(times_us, times_us - 7, Window(0.4))}, Learning(Window(0.4)))
    sharp = Histogram([-0.00002, 0.0, 0.000007, 3.0], [0.00001, 0.5, 0.49999])
    learnt = replace(one, learnt=LearntTemplate(sharp, 100, 0.0, Window(10)))
    read = yaml.safe_load(sensors_yaml([learnt], {of: "lab"}))
    assert histogram_of_form(read["templates"]["clock pulse"]) == sharp
