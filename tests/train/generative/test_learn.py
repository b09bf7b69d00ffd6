"""Learning goes on where it was stopped, and is watched by the configuration's own score."""

from __future__ import annotations

from pathlib import Path

from onym.train.generative.context import Setting
from onym.train.generative.learn import learn
from onym.train.samples.mentions import MentionSamples
from tests.train.tiny import config


def test_the_settings_reach_the_trainer(tmp_path: Path, model: Path, corpus: Path, kb_folder: Path) -> None:
    setting = Setting(config("finetune", model, corpus, kb_folder, dev={"mentions": 2}, optim={"every": 2}), tmp_path / "work")
    samples = MentionSamples(setting.places, setting.kb, setting.layout, count=setting.samples_seen)
    trainer = learn(setting, samples)
    assert trainer.state.global_step == setting.config.optim.steps
    assert trainer.metrics().keys() == {"dev_r1", "dev_r5"}
    again = learn(setting, samples)  # all is done: the last checkpoint is taken
    assert again.state.global_step == trainer.state.global_step
    assert again.state.total_flos == trainer.state.total_flos
