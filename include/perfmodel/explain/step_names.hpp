// Names of the steps of a derivation: those that a law gives, told apart where several steps have one.
#pragma once

#include <algorithm>
#include <map>
#include <perfmodel/explain/traced.hpp>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace perfmodel::detail {

/// Of each node the first that computes the same of the same: what two parts of a model evaluate each for
/// itself is one step.
inline std::vector<int> first_of_each(const trace& t) {
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

/// A named step or input, and what it is computed from and goes into: indices, the nearest first. What
/// it uses stands before it.
struct named_node {
  std::string name;   ///< as the law has it
  std::string value;  ///< as printed
  bool is_input = false;
  std::vector<std::size_t> uses{};
  std::vector<std::size_t> users{};
};

/// One name for each node. A name that a law gives once stays. Of several nodes of one name each is
/// called after the part that it alone belongs to, "flop of attention": the first of the steps above it
/// that is above no other of them but those that belong to an earlier part. A part whose own name a law
/// gives once goes before. What several parts share is called after the first that uses it. An input, or
/// the one that nothing uses, keeps its name. Those that belong to the same are told apart by what goes
/// into them, "x from y", else by their values, "x at 3".
class step_names {
 public:
  explicit step_names(std::vector<named_node>&& nodes)
      : nodes_(std::move(nodes)),
        names_(nodes_.size()),
        part_(nodes_.size(), none),
        parts_(nodes_.size(), 0),
        apart_(nodes_.size()),
        seen_(nodes_.size(), 0) {}

  /// Postcondition: no two are equal.
  std::vector<std::string> give() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) members_[nodes_[i].name].push_back(i);
    find_parts();
    for (std::size_t i = nodes_.size(); i-- > 0;) name(i);  // what uses a step is named before it
    return std::move(names_);
  }

 private:
  using places = std::vector<std::size_t>;
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  static constexpr int unknown = -1;

  bool is_one_of_many(std::size_t i) const { return members_.at(nodes_[i].name).size() > 1; }

  /// What can be reached from a node, without itself.
  places reached(std::size_t from, places named_node::*next) {
    ++round_;
    seen_[from] = round_;
    places all{from};
    for (std::size_t at = 0; at < all.size(); ++at) {
      for (const std::size_t j : nodes_[all[at]].*next) {
        if (std::exchange(seen_[j], round_) != round_) all.push_back(j);
      }
    }
    all.erase(all.begin());
    return all;
  }

  /// Whether another of its name is called after a part, which may not have that name itself.
  bool is_taken(std::size_t i, std::size_t part) const {
    if (nodes_[part].name == nodes_[i].name) return true;
    const places& same = members_.at(nodes_[i].name);
    return std::any_of(same.begin(), same.end(), [&](std::size_t k) { return part_[k] == part; });
  }

  /// The nodes of one name, and of each step above any: which of them.
  struct group {
    places open{};
    std::map<std::size_t, places> under{};
  };
  group group_of(const std::string& name, const places& members) {
    group g;
    const std::size_t plain = plain_of(members);
    for (const std::size_t i : members) {
      if (i == plain) continue;
      g.open.push_back(i);
      parts_[i] = unknown;
      for (const std::size_t j : reached(i, &named_node::users)) {
        if (nodes_[j].name != name) g.under[j].push_back(i);
      }
    }
    return g;
  }
  /// Calls those after parts with so many names of others in their own. Returns how many were named.
  std::size_t call_after(group& g, int parts) {
    const std::size_t before = g.open.size();
    for (const auto& [j, under] : g.under) {
      if (parts_[j] != parts) continue;
      std::size_t only = none;
      int open = 0;
      for (const std::size_t i : under) {
        if (parts_[i] != unknown || part_[i] != none) continue;
        only = i;
        ++open;
      }
      if (open == 1 && !is_taken(only, j)) part_[only] = j;
    }
    std::erase_if(g.open, [this](std::size_t i) { return part_[i] != none; });
    return before - g.open.size();
  }
  void find_parts() {
    std::vector<group> groups;
    for (const auto& [name, members] : members_) {
      if (members.size() > 1) groups.push_back(group_of(name, members));
    }
    do {
      for (std::size_t named = 1, parts = 0; named > 0; ++parts) {
        named = 0;
        for (group& g : groups) named += call_after(g, static_cast<int>(parts));
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
          if (parts_[i] == unknown && part_[i] != none) parts_[i] = static_cast<int>(parts) + 1;
        }
      }
    } while (make_unique_name(groups));
  }
  /// The first of those that no part has to itself is called after the first named step that uses it,
  /// where no other of its name is, else apart. False where there is none.
  bool make_unique_name(std::vector<group>& groups) {
    return make_unique_name(groups, 2) || make_unique_name(groups, 0);
  }
  /// Of those that so many use.
  bool make_unique_name(std::vector<group>& groups, std::size_t fewest_users) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const places& users = nodes_[i].users;
      if (parts_[i] != unknown || users.size() < fewest_users) continue;
      const auto user = std::find_if(users.begin(), users.end(),
                                     [this](std::size_t j) { return parts_[j] != unknown; });
      if (user == users.end() && !users.empty()) continue;
      const bool taken = user == users.end() || is_taken(i, *user);
      if (taken) {
        apart_[i] = apart(i);
        parts_[i] = 1;
      } else {
        part_[i] = *user;
        parts_[i] = parts_[*user] + 1;
      }
      for (group& g : groups) std::erase(g.open, i);
      return true;
    }
    return false;
  }

  /// Which of a name keeps it: the only input, else the only one that nothing of another name uses.
  std::size_t plain_of(const places& members) const {
    places inputs, last;
    for (const std::size_t i : members) {
      if (nodes_[i].is_input) inputs.push_back(i);
      if (nodes_[i].users.empty()) last.push_back(i);
    }
    if (inputs.size() == 1) return inputs[0];
    return inputs.empty() && last.size() == 1 ? last[0] : none;
  }

  void name(std::size_t i) {
    names_[i] = nodes_[i].name + apart_[i];
    if (part_[i] != none) names_[i] += " of " + names_[part_[i]];
    while (!used_.insert(names_[i]).second) names_[i] += "'";
  }
  /// What tells a node from others of its name and part.
  std::string apart(std::size_t i) {
    std::vector<int> below(nodes_.size(), 0);
    for (const std::size_t k : members_.at(nodes_[i].name)) {
      for (const std::size_t j : reached(k, &named_node::uses)) ++below[j];
    }
    for (const std::size_t j : reached(i, &named_node::uses)) {
      if (below[j] == 1 && !is_one_of_many(j)) return " from " + nodes_[j].name;
    }
    return " at " + nodes_[i].value;
  }

  std::vector<named_node> nodes_;
  std::vector<std::string> names_;
  std::vector<std::size_t> part_;  // what a node is called after
  std::vector<int> parts_;         // how many names of others are in a name
  std::vector<std::string> apart_;
  std::map<std::string, places> members_;
  std::set<std::string> used_;
  std::vector<int> seen_;  // in which round
  int round_ = 0;
};

}  // namespace perfmodel::detail
