"""Options of the tests here."""


def pytest_addoption(parser):
    parser.addoption("--programs", type=int, default=150, help="how many random programs test_random_donation.py makes")
    parser.addoption("--seed", type=int, default=0, help="of the random programs")
