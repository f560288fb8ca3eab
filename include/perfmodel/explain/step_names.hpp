// Unique names for the steps of a derivation.
#pragma once

#include <algorithm>
#include <map>
#include <perfmodel/explain/traced.hpp>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace perfmodel::inline v0_3::detail {

/// Representative of each node: the first node that computes the same operation on equal operands.
/// Parts of a model that evaluate one expression each share its step.
inline std::vector<int> find_representatives(const trace& t) {
  using key = std::tuple<trace::operation, double, int, int, std::string, std::string>;
  std::map<key, int> known;
  std::vector<int> first(t.size());
  const auto of = [&first](int i) { return i < 0 ? i : first[static_cast<std::size_t>(i)]; };
  for (std::size_t i = 0; i < t.size(); ++i) {
    const int here = static_cast<int>(i);
    const trace::node& n = t[here];
    const bool leaf = n.left < 0;
    const key k{n.op, leaf ? n.value : 0.0, of(n.left), of(n.right), n.name, n.source};
    first[i] = known.try_emplace(k, here).first->second;
  }
  return first;
}

/// Named step or input. Operands and users are indices of named nodes; an operand has a smaller
/// index than its users.
struct named_node {
  std::string name;   ///< name in the law
  std::string value;  ///< printed value
  bool is_input = false;
  std::vector<std::size_t> operands{};
  std::vector<std::size_t> users{};
};

/// Makes names unique: a duplicate becomes "name of step", where `step` is the nearest step that
/// uses no other node of that name. Without one it is the first user, else "name from operand" or
/// "name at value". The only input among duplicates, or the only result, keeps its name.
class step_names {
 public:
  explicit step_names(std::vector<named_node>&& nodes)
      : nodes_(std::move(nodes)),
        names_(nodes_.size()),
        qualifiers_(nodes_.size(), none),
        depths_(nodes_.size(), 0),
        suffixes_(nodes_.size()),
        visits_(nodes_.size(), 0) {}

  /// Postcondition: no two names are equal.
  std::vector<std::string> make_unique() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) duplicates_[nodes_[i].name].push_back(i);
    find_qualifiers();
    for (std::size_t i = nodes_.size(); i-- > 0;) set_name(i);  // users before operands
    return std::move(names_);
  }

 private:
  using indices = std::vector<std::size_t>;
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  static constexpr int unknown = -1;

  bool has_duplicates(std::size_t i) const { return duplicates_.at(nodes_[i].name).size() > 1; }

  /// Nodes reachable over operands or users, without the start.
  indices find_reachable(std::size_t from, indices named_node::*next) {
    ++visit_;
    visits_[from] = visit_;
    indices all{from};
    for (std::size_t at = 0; at < all.size(); ++at) {
      for (const std::size_t j : nodes_[all[at]].*next) {
        if (std::exchange(visits_[j], visit_) != visit_) all.push_back(j);
      }
    }
    all.erase(all.begin());
    return all;
  }

  /// Whether a step cannot qualify a node: it has the same name, or qualifies a duplicate.
  bool is_taken(std::size_t i, std::size_t step) const {
    if (nodes_[step].name == nodes_[i].name) return true;
    const indices& same = duplicates_.at(nodes_[i].name);
    return std::any_of(same.begin(), same.end(),
                       [&](std::size_t k) { return qualifiers_[k] == step; });
  }

  /// Nodes of one name, and for each step that uses some of them, which.
  struct name_group {
    indices unqualified{};
    std::map<std::size_t, indices> members_below{};
  };
  name_group group_of(const std::string& name, const indices& members) {
    name_group g;
    const std::size_t plain = find_plain(members);
    for (const std::size_t i : members) {
      if (i == plain) continue;
      g.unqualified.push_back(i);
      depths_[i] = unknown;
      for (const std::size_t j : find_reachable(i, &named_node::users)) {
        if (nodes_[j].name != name) g.members_below[j].push_back(i);
      }
    }
    return g;
  }
  /// Qualifies members by steps of a depth: the number of qualifiers in the step's own name.
  /// Returns how many members it qualified.
  std::size_t qualify(name_group& g, int depth) {
    const std::size_t before = g.unqualified.size();
    for (const auto& [j, members] : g.members_below) {
      if (depths_[j] != depth) continue;
      std::size_t only = none;
      int open = 0;
      for (const std::size_t i : members) {
        if (depths_[i] != unknown || qualifiers_[i] != none) continue;
        only = i;
        ++open;
      }
      if (open == 1 && !is_taken(only, j)) qualifiers_[only] = j;
    }
    std::erase_if(g.unqualified, [this](std::size_t i) { return qualifiers_[i] != none; });
    return before - g.unqualified.size();
  }
  void find_qualifiers() {
    std::vector<name_group> groups;
    for (const auto& [name, members] : duplicates_) {
      if (members.size() > 1) groups.push_back(group_of(name, members));
    }
    do {
      for (std::size_t named = 1, depth = 0; named > 0; ++depth) {
        named = 0;
        for (name_group& g : groups) named += qualify(g, static_cast<int>(depth));
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
          if (depths_[i] == unknown && qualifiers_[i] != none) {
            depths_[i] = static_cast<int>(depth) + 1;
          }
        }
      }
    } while (qualify_shared(groups));
  }
  /// Qualifies the first node that no step uses exclusively: by its first named user, else by a
  /// suffix. Shared nodes go first. Returns false if there is none.
  bool qualify_shared(std::vector<name_group>& groups) {
    return qualify_shared(groups, 2) || qualify_shared(groups, 0);
  }
  bool qualify_shared(std::vector<name_group>& groups, std::size_t fewest_users) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const indices& users = nodes_[i].users;
      if (depths_[i] != unknown || users.size() < fewest_users) continue;
      const auto user = std::find_if(users.begin(), users.end(),
                                     [this](std::size_t j) { return depths_[j] != unknown; });
      if (user == users.end() && !users.empty()) continue;
      if (user == users.end() || is_taken(i, *user)) {
        suffixes_[i] = suffix_of(i);
        depths_[i] = 1;
      } else {
        qualifiers_[i] = *user;
        depths_[i] = depths_[*user] + 1;
      }
      for (name_group& g : groups) std::erase(g.unqualified, i);
      return true;
    }
    return false;
  }

  /// Member that keeps its name: the only input, else the only result; none if there is neither.
  std::size_t find_plain(const indices& members) const {
    indices inputs, results;
    for (const std::size_t i : members) {
      if (nodes_[i].is_input) inputs.push_back(i);
      if (nodes_[i].users.empty()) results.push_back(i);
    }
    if (inputs.size() == 1) return inputs[0];
    return inputs.empty() && results.size() == 1 ? results[0] : none;
  }

  void set_name(std::size_t i) {
    names_[i] = nodes_[i].name + suffixes_[i];
    if (qualifiers_[i] != none) names_[i] += " of " + names_[qualifiers_[i]];
    while (!used_.insert(names_[i]).second) names_[i] += "'";
  }
  /// " from operand" for an operand of no other duplicate, else " at value".
  std::string suffix_of(std::size_t i) {
    std::vector<int> users(nodes_.size(), 0);
    for (const std::size_t k : duplicates_.at(nodes_[i].name)) {
      for (const std::size_t j : find_reachable(k, &named_node::operands)) ++users[j];
    }
    for (const std::size_t j : find_reachable(i, &named_node::operands)) {
      if (users[j] == 1 && !has_duplicates(j)) return " from " + nodes_[j].name;
    }
    return " at " + nodes_[i].value;
  }

  std::vector<named_node> nodes_;
  std::vector<std::string> names_;
  std::vector<std::size_t> qualifiers_;  // step after "of" in a name
  std::vector<int> depths_;              // number of qualifiers in a name
  std::vector<std::string> suffixes_;
  std::map<std::string, indices> duplicates_;
  std::set<std::string> used_;
  std::vector<int> visits_;  // last search that reached a node
  int visit_ = 0;
};

}  // namespace perfmodel::inline v0_3::detail
