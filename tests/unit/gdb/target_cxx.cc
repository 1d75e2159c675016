// SPDX-License-Identifier: MIT
// target_cxx.cc: a C++ program: members, inheritance, references, namespaces, a vector; then it blocks.
#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <queue>
#include <stack>
#include <string>
#include <string_view>
#include <vector>

extern "C" long block_here(void);

namespace shop {
enum class State { Open, Closed = 4 };

struct Base {
	virtual ~Base() = default;
	int m_id = 11;
};

struct Extra {
	virtual ~Extra() = default;
	long m_extra = 22;
};

class Store : public Base, public Extra {
public:
	static int s_count;
	explicit Store(int n) : m_count(n)
	{
		for (int i = 0; i < n; i++)
			m_items.push_back(i * 10);
	}
	int size() const { return m_count; }
	__attribute__((noinline)) int run(int &limit, const Store &other);

	int m_count;
	bool m_open = true;
	State m_state = State::Closed;
	std::vector<int> m_items;
	Store *m_next = nullptr;
	std::unique_ptr<int> m_owned{new int(9)};
	std::string m_name = "store";
};

/* For the spellings of libstdc++'s methods. */
struct Holder {
	std::atomic<int> hits{5};
	std::atomic<bool> ready{false};
	std::queue<int> jobs;
	std::stack<int> undo;
	std::priority_queue<int> best;
	std::deque<int> many;
	std::optional<int> maybe, none;
	std::array<int, 3> triple{1, 2, 3};
	std::string state = "o\"k\n", empty;
	std::string_view view = "view";
	std::string long_text = "more than fifteen bytes long";
	std::shared_ptr<int> shared = std::make_shared<int>(7), other = shared;
	std::unique_ptr<int> nothing;

	Holder()
	{
		for (int i = 0; i < 400; i++) { // more than one node of a deque
			jobs.push(i);
			undo.push(i);
			best.push(i ^ 1);
			many.push_back(i * 2);
		}
		jobs.pop();
		many.pop_front();
		maybe = 6;
	}
} holder;

int Store::s_count = 3;
int total = 100;

int Store::run(int &limit, const Store &other)
{
	int here = m_count + limit;

	block_here();
	return here + other.m_count + size();
}
} // namespace shop

shop::Store store(4);
static thread_local long tl_value = 9;

int main()
{
	shop::Store other(2);
	int limit = 6;

	store.m_next = &other;
	tl_value++;
	return store.run(limit, other) + static_cast<int>(tl_value);
}
