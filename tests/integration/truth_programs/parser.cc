/* SPDX-License-Identifier: MIT */
/*
 * parser.cc: members of the object whose method is running, through `this`.
 *
 * EXPR: at_ <= tokens_.size()
 * AS: py: n("this->at_") <= (n("(long)this->tokens_._M_impl._M_finish") - n("(long)this->tokens_._M_impl._M_start")) // 4
 * IN: Parser::take
 * EXPR: errors_ == 0
 * IN: Parser::take
 */
#include <cstdio>
#include <cstdlib>
#include <unistd.h>
#include <vector>

volatile int pass;

class Parser {
	std::vector<int> tokens_;
	size_t at_ = 0;
	int errors_ = 0;
	int depth = 0;

public:
	void add(int t) { tokens_.push_back(t); }
	__attribute__((noinline)) int take(int want);
	void drop() { tokens_.pop_back(); }
	void open() { depth++; }
};

int Parser::take(int want)
{
	pass++;
	if (want == 7)
		errors_++;
	if (at_ > tokens_.size()) {
		puts("end");
		_exit(1);
	}
	return tokens_[at_++] + want;
}

int main()
{
	Parser *p = new Parser;
	int sum = 0;

	for (int i = 0; i < 8; i++)
		p->add(i);
	for (int i = 0; i < 12; i++) {
		sum += p->take(i);
		if (i % 4 == 3)
			p->open();
		if (i == 5)
			p->drop();
	}
	return sum;
}
