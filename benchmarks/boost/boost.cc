// A process with a filter of Boost.Bloom; see process.go. The first argument is classic or blocked.
// It ends with .bulk to use the functions that take many keys, and with .many for many filters.

#include <boost/bloom.hpp>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

namespace {

struct Arguments {
  std::string kind, file;
  std::size_t width, n;
  double p;
  bool has(const char* option) const { return kind.find(option) != std::string::npos; }
};

// Keys holds the bytes of the file, and the keys in them.
template <typename Key> struct Keys {
  std::vector<char> bytes;
  std::vector<Key> all;

  explicit Keys(const Arguments& a) {
    std::ifstream in(a.file, std::ios::binary | std::ios::ate);
    const std::size_t size = in.tellg();
    in.seekg(0);
    if constexpr (std::is_same_v<Key, std::uint64_t>) {
      all.resize(size / a.width);
      in.read(reinterpret_cast<char*>(all.data()), size);
    } else {
      bytes.resize(size);
      in.read(bytes.data(), size);
      for (std::size_t at = 0; at < size; at += a.width) all.push_back(Key(&bytes[at], a.width));
    }
    if (!in) std::abort();
  }
};

// answer reads lines, and answers each with a function of subject.
template <typename Subject, typename Key> void answer(Subject& subject, const Keys<Key>& keys) {
  std::cout << "ready " << subject.bits() << std::endl;
  for (std::string command; std::cin >> command;) {
    if (command == "empty") {
      subject.empty();
      std::cout << "0 0" << std::endl;
      continue;
    }
    std::size_t first, n, warm;
    std::cin >> first >> n;
    if (command == "fill") {
      subject.fill(&keys.all[first], n);
      std::cout << "0 0" << std::endl;
      continue;
    }
    std::cin >> warm;
    std::size_t found = subject.find(&keys.all[warm], n);
    const auto start = std::chrono::steady_clock::now();
    if (command == "add") {
      subject.add(&keys.all[first], n);
      found = 0;
    } else {
      found = subject.find(&keys.all[first], n);
    }
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    if (command == "add" && subject.filled) {
      std::cout << "nan 0" << std::endl;
    } else {
      std::cout << took.count() << " " << found << std::endl;
    }
  }
}

template <typename Filter> struct One {
  using Key = typename Filter::value_type;
  static constexpr bool filled = false;
  bool bulk;
  Filter f;

  std::size_t bits() const { return f.capacity(); }
  void empty() { f.clear(); }
  void fill(const Key* key, std::size_t n) { f.insert(key, key + n); }

  [[gnu::noinline]] void add(const Key* key, std::size_t n) {
    if (bulk) {
      f.insert(key, key + n);
      return;
    }
    for (auto end = key + n; key != end; key++) f.insert(*key);
  }

  [[gnu::noinline]] std::size_t find(const Key* key, std::size_t n) {
    std::size_t found = 0;
    if (bulk) {
      f.may_contain(key, key + n, [&](const Key&, bool there) { found += there; });
      return found;
    }
    for (auto end = key + n; key != end; key++) found += f.may_contain(*key);
    return found;
  }
};

template <typename Filter> void one(const Arguments& a) {
  One<Filter> subject{a.has(".bulk"), Filter{a.n, a.p}};
  answer(subject, Keys<typename Filter::value_type>(a));
}

// Many has many filters of 100,000 keys each, with the keys and look-ups of peer_many.go.
template <typename Filter> struct Many {
  static constexpr bool filled = true;
  static constexpr std::uint64_t filters = 1024, filter_keys = 100000;
  std::size_t n;
  std::vector<Filter> all;

  static std::uint64_t mix(std::uint64_t x) {
    x *= 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
  }

  explicit Many(const Arguments& a) : n(a.n) {
    for (std::uint64_t j = 0; j < filters; j++) {
      all.emplace_back(filter_keys, a.p);
      for (std::uint64_t i = 0; i < filter_keys; i++) all[j].insert(j << 54 | mix(j * filter_keys + i) >> 10);
    }
  }

  std::size_t bits() const { return all[0].capacity() * n / filter_keys; }
  void empty() {}
  void fill(const std::uint64_t*, std::size_t) {}
  void add(const std::uint64_t*, std::size_t) {}

  [[gnu::noinline]] std::size_t find(const std::uint64_t* key, std::size_t n) {
    std::size_t found = 0;
    for (auto end = key + n; key != end; key++) found += all[*key >> 54].may_contain(*key);
    return found;
  }
};

template <typename Filter> void many(const Arguments& a) {
  Many<Filter> subject(a);
  answer(subject, Keys<std::uint64_t>(a));
}

template <typename Key> void pick(const Arguments& a) {
  using namespace boost::bloom;
  if (a.has("blocked")) {
    using block = fast_multiblock32<8>;
    a.p < 1e-3 ? one<filter<Key, 2, block>>(a) : one<filter<Key, 1, block>>(a);
  } else if (a.p < 1e-5) {
    one<filter<Key, 20>>(a);
  } else {
    a.p < 1e-3 ? one<filter<Key, 13>>(a) : one<filter<Key, 7>>(a);
  }
}

}  // namespace

int main(int, char** args) {
  using namespace boost::bloom;
  const Arguments a{args[1], args[2], std::stoul(args[3]), std::stoul(args[4]), std::stod(args[5])};
  if (a.has("blocked.many")) {
    many<filter<std::uint64_t, 1, fast_multiblock32<8>>>(a);
  } else if (a.has("classic.many")) {
    many<filter<std::uint64_t, 7>>(a);
  } else if (a.width == 8) {
    pick<std::uint64_t>(a);
  } else {
    pick<std::string_view>(a);
  }
}
