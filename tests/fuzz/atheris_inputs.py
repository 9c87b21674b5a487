"""Fuzzing for hours, guided by coverage: `python tests/fuzz/atheris_inputs.py TARGET [options of libFuzzer]`.

Needs `pip install atheris`. Without a target it lists them. What it finds belongs into `test_inputs.py`.
"""

import sys

import atheris

with atheris.instrument_imports(include=["engine", "services", "jwt"]):
    from tests.fuzz.targets import TARGETS, examples

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in TARGETS:
        sys.exit(f"targets: {', '.join(TARGETS)}")
    name = sys.argv.pop(1)
    seeds = examples(name)

    def one_input(data: bytes) -> None:
        """Damage a good input at one place, or take what the fuzzer has made."""
        if len(data) > 3 and data[0] % 2:
            seed = seeds[data[1] % len(seeds)]
            place = data[2] * len(seed) // 256
            data = seed[:place] + data[3:] + seed[place + len(data) - 3 :]
        TARGETS[name](data)

    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
