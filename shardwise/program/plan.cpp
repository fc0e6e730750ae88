// Plan text to mesh and rules. Every fault of the text is one sentence that quotes it.
#include "shardwise/program/plan.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <numeric>
#include <sstream>

#include "shardwise/base/check.h"

namespace shardwise {
namespace {

constexpr int kMaxWeight = 1 << 20;

// Reads a plan from left to right; a fault says what was expected at the place it was found.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text), rest_(text) {}

  bool done() const { return rest_.empty(); }
  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void spaces() {
    while (take(' ') || take('\t')) {}
  }
  std::string word() {
    size_t n = 0;
    while (n < rest_.size() && (std::isalnum(static_cast<unsigned char>(rest_[n])) || rest_[n] == '_')) ++n;
    std::string w(rest_.substr(0, n));
    rest_.remove_prefix(n);
    return w;
  }
  Result<int> number(std::string_view of, int least, int most) {
    int n = 0;
    const auto [end, fault] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), n);
    if (fault != std::errc{} || n < least || n > most)
      return expected(fmt::format("{} from {} to {}", of, least, most));
    rest_.remove_prefix(size_t(end - rest_.data()));
    return n;
  }
  // "(3,5)": n of them, none negative, not all zero.
  Result<std::vector<int>> weights(int n) {
    std::vector<int> all;
    do {
      auto w = number("a weight", 0, kMaxWeight);
      if (!w) return w.error();
      all.push_back(*w);
    } while (take(','));
    if (!take(')')) return expected("')' after the weights");
    if (int(all.size()) != n || std::accumulate(all.begin(), all.end(), int64_t{0}) == 0)
      return fail("plan '{}': {} weights for an axis of {} ranks; give one for each rank, not all zero", text_,
                  all.size(), n);
    return all;
  }
  Error expected(std::string_view what) const {
    return fail("plan '{}': found '{}' where {} was expected, as in 'pp=2,tp=4' or 'tp=2; K:tp F:tp V:tp'", text_,
                rest_.empty() ? "the end" : rest_.substr(0, 12), what);
  }

 private:
  std::string_view text_, rest_;
};

constexpr std::pair<std::string_view, std::string_view> kShortForms[] = {
    {"pp", "L"}, {"dp", "B"}, {"cp", "S T"}, {"tp", "K F V"}, {"ep", "E"}};

Status read_form(Reader& in, const std::string& axis, Plan& plan) {
  const std::string form = in.word();
  constexpr std::pair<std::string_view, Attention> forms[] = {
      {"gather", Attention::Gather}, {"ring", Attention::Ring}, {"ulysses", Attention::Ulysses}};
  for (const auto& [name, attention] : forms)
    if (form == name && axis == "cp") return plan.attention = attention, Status{};
  return fail("plan '{}': '{}:{}' is not a form of attention; cp=N may be followed by :gather, :ring or :ulysses",
              plan.text, axis, form);
}

Status read_mesh(Reader& in, Plan& plan) {
  int64_t ranks = 1;
  do {
    in.spaces();
    MeshAxis axis;
    axis.name = in.word();
    if (axis.name.empty()) return in.expected("the name of an axis");
    if (plan.mesh.axis(axis.name) >= 0) return fail("plan '{}': axis '{}' is there twice", plan.text, axis.name);
    if (!in.take('=')) return in.expected("'=' after '" + axis.name + "'");
    auto size = in.number("a number of ranks", 1, kMaxRanks);
    if (!size) return size.error();
    axis.size = *size, ranks *= *size;
    axis.weights.assign(size_t(*size), 1);
    if (in.take('(')) {
      auto weights = in.weights(*size);
      if (!weights) return weights.error();
      axis.weights = *weights;
    }
    if (in.take(':')) {
      if (const Status form = read_form(in, axis.name, plan); !form) return form;
    }
    if (int(plan.mesh.axes.size()) == kMaxAxes) return fail("plan '{}': more than {} axes", plan.text, kMaxAxes);
    if (ranks > kMaxRanks) return fail("plan '{}': more than {} ranks", plan.text, kMaxRanks);
    plan.mesh.axes.push_back(std::move(axis));
    in.spaces();
  } while (in.take(','));
  return {};
}

Result<Dim> read_dim(char c, const std::string& text) {
  const size_t at = kLetters.find(c);
  if (at == std::string_view::npos)
    return fail("plan '{}': '{}' is not a dim; the dims are B T S D K G H F V E L", text, c);
  return Dim(at) == Dim::G ? Dim::K : Dim(at);
}

Status read_rule(Reader& in, Plan& plan) {
  const std::string dims = in.word();
  if (dims.empty() || dims.size() > 2) return in.expected("a rule such as K:tp");
  auto beside = read_dim(dims.front(), plan.text);
  if (!beside) return beside.error();
  auto dim = read_dim(dims.back(), plan.text);
  if (!dim) return dim.error();
  if (!in.take(':')) return in.expected("':' after '" + dims + "'");
  const std::string name = in.word();
  const int axis = plan.mesh.axis(name);
  if (axis < 0)
    return fail("plan '{}': rule {}:{} names an axis that the mesh lacks; add {}=N before the ';'", plan.text, dims,
                name, name);
  if (in.take('(')) {
    auto weights = in.weights(plan.mesh.size(axis));
    if (!weights) return weights.error();
    plan.mesh.axes[size_t(axis)].dim_weights[*dim] = *weights;
  }
  plan.rules.push_back({*dim, axis, *beside});
  return {};
}

Status expand(Plan& plan) {
  for (const MeshAxis& axis : plan.mesh.axes) {
    const auto* form = std::find_if(std::begin(kShortForms), std::end(kShortForms),
                                    [&](const auto& f) { return f.first == axis.name; });
    if (form == std::end(kShortForms))
      return fail("plan '{}': axis '{}' has no meaning of its own; use pp, dp, cp, tp or ep, or add rules after ';'",
                  plan.text, axis.name);
    std::istringstream dims(axis.name == "cp" && plan.attention == Attention::Ulysses ? "T SK"
                                                                                      : std::string(form->second));
    for (std::string d; dims >> d;)
      plan.rules.push_back({Dim(kLetters.find(d.back())), plan.mesh.axis(axis.name), Dim(kLetters.find(d.front()))});
  }
  return {};
}

}  // namespace

Result<Plan> parse_plan(std::string_view text) {
  Plan plan;
  plan.text = std::string(text);
  if (text == "none") return plan;
  Reader in(text);
  if (const Status mesh = read_mesh(in, plan); !mesh) return mesh.error();
  if (in.done()) {
    if (const Status rules = expand(plan); !rules) return rules.error();
    return plan;
  }
  if (!in.take(';')) return in.expected("',' or ';'");
  for (in.spaces(); !in.done(); in.spaces())
    if (const Status rule = read_rule(in, plan); !rule) return rule.error();
  return plan;
}

Status check_layers(const Plan& plan, int layers) {
  const int axis = plan.stage_axis();
  if (axis < 0) return {};
  const std::vector<int>& weights = plan.mesh.weights(Dim::L, axis);
  const int64_t sum = std::accumulate(weights.begin(), weights.end(), int64_t{0});
  const bool even = std::all_of(weights.begin(), weights.end(), [](int w) { return w == 1; });
  if (even || sum == layers) return {};
  return fail("plan '{}': the stages hold {} layers, the model has {}; make the counts add up to {}", plan.text, sum,
              layers, layers);
}

Layout Plan::layout(const Value& v) const {
  Layout layout;
  for (const Rule& r : rules) {
    if (layout[r.axis] != replicated() || r.axis == stage_axis() || mesh.size(r.axis) == 1) continue;
    if (r.dim == Dim::H || !v.has(r.dim) || !v.has(r.beside)) continue;  // every op needs H whole
    int64_t left = 0, granule = 1;
    if (r.dim == Dim::S) {
      left = std::numeric_limits<int64_t>::max();  // a set that grows from step to step, cut the same way at each
    } else if (r.dim == Dim::B) {
      for (const Extent& e : v.shape) left = std::max(left, int64_t(e.sequences.size()));
    } else {
      const Extent& e = *v.find(r.dim);
      if (v.outputs > 0 && &e != &v.shape.front() && &e != &v.shape[size_t(v.outputs)]) continue;
      Extent scale = e;
      scale.shared = false, scale.size = e.shared ? e.size * e.group : e.size;
      left = largest(scale, layout, mesh), granule = e.granule;
    }
    if (left > granule) layout[r.axis] = split(r.dim);
  }
  return layout;
}

int Plan::stage_axis() const {
  const auto cuts_layers = std::find_if(rules.begin(), rules.end(), [](const Rule& r) { return r.dim == Dim::L; });
  return cuts_layers == rules.end() || mesh.size(cuts_layers->axis) == 1 ? -1 : cuts_layers->axis;
}

int Plan::stage(int layer, int layers) const {
  const int axis = stage_axis();
  if (axis < 0) return 0;
  for (int i = 0;; ++i)
    if (layer < part({0, layers}, 1, mesh.weights(Dim::L, axis), i).end()) return i;
}

}  // namespace shardwise
