# SPDX-License-Identifier: MIT
# Counts words, sorts them, forks, and reads the clock and random numbers: the output is always the same.
use strict;
use warnings;
use Time::HiRes qw(time sleep);

my %count;
open(my $in, '<', $ARGV[0]) or die "$ARGV[0]: $!";
while (my $line = <$in>) {
	$count{$_}++ for split ' ', $line;
}
close $in;
my @top = sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
print "$_ $count{$_}\n" for @top[0 .. 9];

my $started = time;
sleep 0.002;
die 'time runs backwards' if time < $started + 0.002;
open(my $out, '>', 'drawn') or die $!;
print $out rand(), ' ', time, "\n" for 1 .. 100;
close $out;

pipe(my $read, my $write) or die $!;
my $pid = fork // die $!;
if (!$pid) {
	print $write "child of $top[0]\n";
	exit 5;
}
close $write;
print <$read>;
waitpid $pid, 0;
print 'status ', $? >> 8, "\n", `echo from a shell`;
