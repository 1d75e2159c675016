/* SPDX-License-Identifier: MIT */
/* Large.java: work for tests/bench/large: a pool of threads that shares a map, and a parallel stream. */
import java.util.*;
import java.util.concurrent.*;
import java.util.stream.*;
public class Large {
	static int prime(int n) { for (int d = 2; (long) d * d <= n; d++) if (n % d == 0) return 0; return 1; }
	public static void main(String[] a) throws Exception {
		int n = a.length > 0 ? Integer.parseInt(a[0]) : 1;
		ConcurrentHashMap<String, Integer> words = new ConcurrentHashMap<>();
		ExecutorService pool = Executors.newFixedThreadPool(4);
		List<Future<Integer>> parts = new ArrayList<>();
		for (int p = 0; p < 16; p++) {
			int part = p;
			parts.add(pool.submit(() -> {
				int count = 0;
				for (int i = 0; i < 40000 * n; i++) {
					words.merge("w" + (i * 31 + part) % 5000, 1, Integer::sum);
					count += prime(part * 40000 + i);
				}
				return count;
			}));
		}
		int primes = 0;
		for (Future<Integer> f : parts) primes += f.get();
		pool.shutdown();
		long sum = IntStream.range(0, 400000 * n).parallel().mapToObj(i -> "x" + i).mapToLong(String::hashCode).sum();
		System.out.println(primes + " " + words.size() + " " + words.values().stream().mapToInt(i -> i).sum() + " " + sum);
	}
}
