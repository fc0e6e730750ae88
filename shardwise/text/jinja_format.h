// Python's two string formatters: "%s" % x and "{}".format(x).
#pragma once

#include "shardwise/text/jinja_value.h"

namespace shardwise::jinja {

// `named` is for "%(name)s"; null: there are only positional arguments. Fails on a value too few, and unless `lenient`
// on one too many.
Text format_percent(Budget& budget, const Text& format, const Arguments& arguments, const Dict* named, bool lenient);
Text format_braces(Budget& budget, const Text& format, const Arguments& arguments);

}  // namespace shardwise::jinja
