// Measures the filters of Boost.Bloom; process.go has the rules. The first argument
// is classic or blocked, with .bulk behind it for the functions that take many keys, or .many for
// many filters.

#include <boost/bloom.hpp>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace {

enum { add, present, absent, ops };

template <typename Do> double timed(std::size_t keys, Do do_) {
  const auto start = std::chrono::steady_clock::now();
  do_();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / keys;
}

struct Workload {
  std::string bytes;
  std::size_t width, n, window, passes;
  double p;
  bool bulk;
};

template <typename Key> std::vector<Key> read(const Workload& w) {
  std::vector<Key> keys;
  for (std::size_t at = 0; at < w.bytes.size(); at += w.width) {
    if constexpr (std::is_same_v<Key, std::uint64_t>) {
      std::uint64_t key;
      std::memcpy(&key, &w.bytes[at], sizeof key);
      keys.push_back(key);
    } else {
      keys.push_back(Key(&w.bytes[at], w.width));
    }
  }
  return keys;
}

template <typename Filter> struct Run {
  using Key = typename Filter::value_type;
  const Workload& w;
  const std::vector<Key> keys = read<Key>(w);
  Filter f{w.n, w.p};

  [[gnu::noinline]] void insert(const Key* key, std::size_t n) {
    if (w.bulk) {
      f.insert(key, key + n);
      return;
    }
    for (auto end = key + n; key != end; key++) f.insert(*key);
  }

  [[gnu::noinline]] std::size_t count(const Key* key, std::size_t n) {
    std::size_t found = 0;
    if (w.bulk) {
      f.may_contain(key, key + n, [&](const Key&, bool there) { found += there; });
      return found;
    }
    for (auto end = key + n; key != end; key++) found += f.may_contain(*key);
    return found;
  }

  void round(std::size_t round, double (&ns)[ops]) {
    for (auto& x : ns) x = 0;
    for (std::size_t pass = 0; pass < w.passes; pass++) {
      f.clear();
      ns[add] += timed(w.n, [&] { insert(&keys[0], w.n); }) / w.passes;
    }
    for (int op : {present, absent}) {
      const std::size_t first = op == present ? 0 : w.n, size = op == present ? w.n : keys.size() - w.n;
      std::size_t found = 0;
      for (std::size_t pass = 0; pass < w.passes; pass++) {
        const auto part = &keys[first + (round * w.passes + pass) % (size / w.window) * w.window];
        ns[op] += timed(w.window, [&] { found += count(part, w.window); }) / w.passes;
        }
      if (op == present && found != w.window * w.passes) std::abort();
    }
  }

  void all() {
    double ns[ops];
    round(0, ns);
    std::cout << "ready " << f.capacity() << " " << count(&keys[w.n], keys.size() - w.n) << std::endl;
    for (std::size_t number; std::cin >> number;) {
      round(number, ns);
      for (auto x : ns) std::cout << x << " ";
      std::cout << std::endl;
    }
  }
};

// Many filters of 100,000 keys each, with the keys and look-ups of peer_many.go.
template <typename Filter> struct Many {
  static constexpr std::uint64_t filters = 1024, filter_keys = 100000;
  const Workload& w;
  const std::vector<std::uint64_t> keys = read<std::uint64_t>(w);
  std::vector<Filter> all;

  static std::uint64_t mix(std::uint64_t x) {
    x *= 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
  }

  [[gnu::noinline]] std::size_t count(const std::uint64_t* key, std::size_t n) {
    std::size_t found = 0;
    for (auto end = key + n; key != end; key++) found += all[*key >> 54].may_contain(*key);
    return found;
  }

  void run() {
    for (std::uint64_t j = 0; j < filters; j++) {
      all.emplace_back(filter_keys, w.p);
      for (std::uint64_t i = 0; i < filter_keys; i++) all[j].insert(j << 54 | mix(j * filter_keys + i) >> 10);
    }
    std::cout << "ready " << all[0].capacity() * w.n / filter_keys << " " << count(&keys[w.n], keys.size() - w.n) << std::endl;
    for (std::size_t round; std::cin >> round;) {
      std::cout << "nan ";
      for (int op : {present, absent}) {
        const std::size_t first = op == present ? 0 : w.n, size = op == present ? w.n : keys.size() - w.n;
        const auto part = &keys[first + round % (size / w.window) * w.window];
        std::size_t found = 0;
        std::cout << timed(w.window, [&] { found = count(part, w.window); }) << " ";
        if (op == present && found != w.window) std::abort();
      }
      std::cout << std::endl;
    }
  }
};

template <typename Key> void pick(bool blocked, const Workload& w) {
  using namespace boost::bloom;
  if (blocked) {
    using block = fast_multiblock32<8>;
    w.p < 1e-3 ? Run<filter<Key, 2, block>>{w}.all() : Run<filter<Key, 1, block>>{w}.all();
  } else if (w.p < 1e-5) {
    Run<filter<Key, 20>>{w}.all();
  } else {
    w.p < 1e-3 ? Run<filter<Key, 13>>{w}.all() : Run<filter<Key, 7>>{w}.all();
  }
}

}  // namespace

int main(int, char** args) {
  const std::string kind = args[1];
  std::ifstream file(args[2], std::ios::binary);
  Workload w{std::string(std::istreambuf_iterator<char>(file), {}), std::stoul(args[3]), std::stoul(args[4]),
             std::stoul(args[5]), std::stoul(args[6]), std::stod(args[7]), kind.find(".bulk") != std::string::npos};
  const bool blocked = kind.compare(0, 7, "blocked") == 0;
  if (kind.find(".many") != std::string::npos) {
    using namespace boost::bloom;
    if (blocked) {
      Many<filter<std::uint64_t, 1, fast_multiblock32<8>>>{w}.run();
    } else {
      Many<filter<std::uint64_t, 7>>{w}.run();
    }
    return 0;
  }
  w.width == 8 ? pick<std::uint64_t>(blocked, w) : pick<std::string_view>(blocked, w);
}
