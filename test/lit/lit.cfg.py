# IR tests: each .mlir file says in its RUN lines how to be run. CMake passes
# where the build is; by hand:
#   lit -v test/lit --param tools=build/dev/bin --param llvm=$(llvm-config-22 --bindir)
import os

import lit.formats

config.name = "tilewright"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = lit_config.params.get("exec", os.path.join(os.getcwd(), "lit"))
tools = [os.path.abspath(path) for path in lit_config.params["tools"].split(":")]
config.environment["PATH"] = ":".join([*tools, lit_config.params["llvm"], os.environ["PATH"]])
