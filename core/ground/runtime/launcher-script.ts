import process from "node:process";

/**
 * Numbers of the system calls sendmsg, setns, unshare, setsid, prctl, mount and close, by architecture: Perl has no function for
 * them. Newer calls have the same number everywhere: 428 open_tree, 429 move_mount, 434 pidfd_open, 437 openat2,
 * 442 mount_setattr.
 */
const numbers: Readonly<Record<string, readonly number[]>> = {
  x64: [46, 308, 272, 112, 157, 165, 3],
  arm64: [211, 268, 97, 157, 167, 40, 57],
};

/** Arguments of Perl for the launcher; null on an architecture whose numbers are not known. */
export function launcherArguments(): readonly string[] | null {
  const known = numbers[process.arch];
  return known === undefined ? null : ["-e", script, ...known.map(String)];
}

/**
 * Takes requests on its standard input: their length, the end of a line, and fields parted by NUL. Answers on the
 * channel of Node's child processes: a line of JSON, and beside some of them an open file. It ends when the host has
 * closed either.
 *
 * The host's ends of pipes and the sockets do not block, since the event loop that uses them must not. A program has
 * started when the pipe for its problem closes by itself. Up to eight start at the same time: on a busy machine a
 * process waits long for its first turn.
 *
 * A program's output holds 256 KiB in place of 64: programs on Node that print faster than a busy host reads, and then end
 * themselves, lose what has no room there. It keeps its 64 where the system gives no more (pipe(7), /proc files).
 *
 * A view is what bwrap would mount, in its words. Here each mount is a few calls, where bwrap reads the table of all mounts
 * after each of its own. All that is shown is cloned before anything is covered, as bwrap takes it from the disk as it was,
 * and nothing on the way to a place may be a link (mount_setattr(2), openat2(2)). The disk becomes read-only at once, but for
 * the `/proc` in which bwrap writes who it is, and which it covers with that of the new processes.
 *
 * A gate is a pipe that bwrap reads from before it runs the program. Bwrap would go on at the pipe's end as well, so
 * each gate is open both ways in bwrap itself: the end never comes, also when the launcher is gone.
 */
const script = `
my ($sendmsg, $setns, $unshare, $setsid, $prctl, $mount, $close) = @ARGV;
my $launcher = $$;
open(my $channel, "+<&=", delete $ENV{NODE_CHANNEL_FD}) or die "channel: $!";
my ($requests, @queue, %starting, %gates, %watched, %blind, %holders) = ("");
my $nothing = "";
my %makes = (
  "--bind" => sub { bind_as($_[0], 6) },
  "--ro-bind" => sub { bind_as($_[0], 7) },
  "--tmpfs" => sub { \\&empty_folder },
  "--dev" => \\&devices,
  "--remount-ro" => sub { sub { change(opened($_[0]), 0x1000, 1, 0) } },
);

sub answer {
  my $line = "$_[0]\\n";
  syswrite($channel, $line) == length $line or exit 1;
}

sub hand_over {
  my ($file, $type, $about) = @_;
  my $text = qq({"cmd":"NODE_HANDLE","type":"$type","msg":$about}\\n);
  my $vector = pack("PQ", $text, length $text);
  my $rights = pack("QiiiI", 20, 1, 1, fileno $file, 0);
  my $message = pack("QLLPQPQQ", 0, 0, 0, $vector, 1, $rights, length $rights, 0);
  syscall($sendmsg, fileno $channel, $message, 0) == length $text or exit 1;
}

sub refuse {
  my ($id, $errno) = @_;
  delete $gates{$id};
  answer(sprintf '{"id":%d,"errno":%d}', $id, $errno);
}

sub watch {
  my ($pid, $id) = @_;
  my $number = syscall(434, $pid, 0);
  return $blind{$pid} = $id if $number < 0;
  open(my $file, "<&=", $number);
  $watched{$number} = [$pid, $id, $file];
}

sub ended {
  my ($id, $status) = @_;
  delete $gates{$id};
  answer(sprintf '{"id":%d,"code":%d,"signal":%d}', $id, $status >> 8, $status & 127) if $id;
}

sub start {
  my ($id, $waits, $cwd, $user, $net, $filter, $input, $ends, $mounts, $count, @env) = @_;
  my @view = splice @env, 0, $mounts;
  my @command = splice @env, 0, $count;
  my ($in, $to_in, $gate);
  !$waits or $gate = $gates{$id} = new_gate() or return refuse($id, $!);
  !$input or pipe($in, $to_in) or return refuse($id, $!);
  pipe(my $of_out, my $out) && pipe(my $of_err, my $err) && pipe(my $failed, my $fail) or return refuse($id, $!);
  fcntl($out, 1031, 262144);
  my $pid = fork;
  return refuse($id, $!) if !defined $pid;
  if (!$pid) {
    eval {
      syscall($setsid);
      my @spaces = map { my ($path, $kind) = @$_; $path eq "" ? () : [enterable($path), $kind] }
        [$user, 0x10000000], [$net, 0x40000000];
      syscall($setns, fileno $_->[0], $_->[1]) == 0 or die for @spaces;
      chdir $cwd or die;
      open(STDIN, $input ? "<&" : "<", $input ? $in : "/dev/null") or die;
      open(STDOUT, ">&", $out) && open(STDERR, ">&", $err) or die;
      %ENV = map { split /=/, $_, 2 } @env;
      if ($ends || $gate) {
        syscall($prctl, 1, 9);
        getppid == $launcher or kill 9, $$;
      }
      splice @command, 1, 0, "--block-fd", kept($gate) if $gate;
      my $calls;
      $filter eq "" or open($calls, "<", $filter) or die;
      splice @command, 1, 0, "--seccomp", kept($calls) if $calls;
      make_view(@view) if @view;
      exec { $command[0] } @command;
    };
    syswrite($fail, pack "l", $!);
    kill 9, $$;
  }
  $starting{fileno $failed} = [$failed, $id, $pid, $to_in, $of_out, $of_err];
}

sub started {
  my ($failed, $id, $pid, $to_in, $of_out, $of_err) = @_;
  if (sysread($failed, my $problem, 4)) {
    waitpid $pid, 0;
    return refuse($id, unpack "l", $problem);
  }
  fcntl($_, 4, 2048) for grep { defined } $to_in, $of_out, $of_err;
  hand_over($to_in, "net.Native", "[$id,0]") if $to_in;
  hand_over($of_out, "net.Native", "[$id,1]");
  hand_over($of_err, "net.Native", "[$id,2]");
  answer(qq({"id":$id,"pid":$pid}));
  watch($pid, $id);
}

sub new_gate {
  pipe(my $end, my $other) or return;
  open(my $gate, "+<", "/proc/self/fd/" . fileno $end) or return;
  return $gate;
}

sub go {
  my ($id) = @_;
  return syswrite(delete $gates{$id}, "1") if $gates{$id};
  for my $request (@queue) { $request->[2] = "" if $request->[0] eq "start" && $request->[1] == $id }
}

sub kept {
  fcntl($_[0], 2, 0) or die;
  return fileno $_[0];
}

sub enterable {
  open(my $space, "<", $_[0]) or die;
  return $space;
}

sub make_view {
  my @words = @_;
  syscall($unshare, 0x20000) == 0 or die;
  mount_as("none", "/", 0x84000, "");
  my @mounts;
  while (@words) {
    my ($kind, $from, $at) = splice @words, 0, $words[0] =~ /bind/ ? 3 : 2;
    next if $from eq "/proc";
    my $act = $makes{$kind} or fail_with(22);
    push @mounts, [$at // $from, $act->($from)];
  }
  change(opened("/"), 0x9000, 7, 0);
  change(opened("/proc"), 0x1000, 0, 1);
  for (@mounts) {
    my ($at, $act) = @$_;
    # A mount over all of it would not be seen from here.
    $at ne "/" or fail_with(22);
    $act->($at);
  }
}

sub mount_as {
  my ($type, $at, $flags, $options) = @_;
  syscall($mount, $type, $at, $type, $flags, $options) == 0 or die;
}

sub bind_as {
  my ($from, $flags) = @_;
  my ($tree, $is_folder) = (cloned($from, $flags), -d $from);
  return sub { attach($tree, $is_folder, @_) };
}

sub empty_folder {
  my ($at) = @_;
  ensure($at, 1);
  my $to = opened($at);
  mount_as("tmpfs", "/proc/self/fd/$to", 6, "mode=0755");
  syscall($close, $to);
}

sub devices {
  my %trees = map { ($_ => cloned("/dev/$_", 2)) } grep { -e "/dev/$_" } qw(null zero full random urandom tty);
  return sub {
    my ($at) = @_;
    empty_folder($at);
    attach($trees{$_}, 0, "$at/$_") for keys %trees;
    my %links = (fd => "fd", stdin => "fd/0", stdout => "fd/1", stderr => "fd/2");
    symlink("/proc/self/$links{$_}", "$at/$_") or die for keys %links;
    symlink("/proc/kcore", "$at/core") && symlink("pts/ptmx", "$at/ptmx") && mkdir("$at/shm", 0755) or die;
    mkdir("$at/pts", 0755) or die;
    mount_as("devpts", "$at/pts", 10, "newinstance,ptmxmode=0666,mode=620");
  };
}

sub opened {
  my ($path) = @_;
  my $how = pack "Q3", 0x280000, 0, 4;
  return file(syscall(437, -100, $path, $how, length $how));
}

sub cloned {
  my ($from, $flags) = @_;
  my $at = opened($from);
  my $tree = file(syscall(428, $at, $nothing, 0x89001));
  syscall($close, $at);
  change($tree, 0x9000, $flags, 0);
  return $tree;
}

sub file {
  $_[0] < 0 and die;
  return $_[0];
}

sub change {
  my ($file, $ways, $set, $clear) = @_;
  my $change = pack "Q4", $set, $clear, 0, 0;
  syscall(442, $file, $nothing, $ways, $change, length $change) == 0 or die;
}

sub attach {
  my ($tree, $is_folder, $at) = @_;
  ensure($at, $is_folder);
  my $to = opened($at);
  syscall(429, $tree, $nothing, $to, $nothing, 0x44) == 0 or die;
  syscall($close, $_) for $to, $tree;
}

sub ensure {
  my ($at, $is_folder) = @_;
  return if -e $at;
  mkdir substr($at, 0, pos $at), 0755 while $at =~ m{[^/](?=/)}g;
  $is_folder ? mkdir($at, 0755) : sysopen(my $file, $at, 0301, 0444) or die;
}

sub fail_with {
  $! = $_[0];
  die;
}

sub network {
  my ($id, @ports) = @_;
  pipe(my $until, my $holder) or return refuse($id, $!);
  my $pid = fork;
  return refuse($id, $!) if !defined $pid;
  if ($pid) {
    $holders{$id} = $holder;
    return watch($pid, 0);
  }
  close $holder;
  %holders = %starting = %gates = ();
  eval { open_network($id, @ports); 1 } or refuse($id, $!);
  sysread($until, my $end, 1);
  kill 9, $$;
}

sub open_network {
  my ($id, @ports) = @_;
  my ($user, $group) = ($>, $) + 0);
  if (syscall($unshare, 0x50000000) == 0) {
    note("setgroups", "deny");
    note("uid_map", "$user $user 1");
    note("gid_map", "$group $group 1");
  } else {
    syscall($unshare, 0x40000000) == 0 or die;
  }
  my $up = pack "a16 s x22", "lo", 0x41;
  socket(my $any, 2, 2, 0) or die;
  ioctl($any, 0x8914, $up) or die;
  for my $port (@ports) {
    $port > 0 && $port < 65536 or die;
    socket(my $server, 2, 1 | 2048, 0) or die;
    bind($server, pack "SnNx8", 2, $port, 0x7f000001) && listen($server, 511) or die;
    hand_over($server, "net.Server", "[$id,$port]");
  }
  answer(qq({"id":$id,"pid":$$}));
}

sub note {
  my ($name, $text) = @_;
  open(my $file, ">", "/proc/self/$name") or die;
  syswrite($file, $text) or die;
}

my %acts = (start => \\&start, network => \\&network, release => sub { delete $holders{$_[0]} });

sub obey {
  while ((my $head = index $requests, "\\n") > 0) {
    my $length = substr $requests, 0, $head;
    last if length $requests < $head + 1 + $length;
    my ($act, @fields) = split /\\0/, substr($requests, $head + 1, $length), -1;
    substr($requests, 0, $head + 1 + $length) = "";
    if ($act eq "go") { go(@fields) } else { push @queue, [$act, @fields] }
  }
  while (@queue && keys %starting < 8) {
    my ($act, @fields) = @{ shift @queue };
    $acts{$act}->(@fields);
  }
}

while (1) {
  my $wanted = "";
  vec($wanted, $_, 1) = 1 for fileno $channel, keys %watched, keys %starting, 0;
  my $count = select(my $ready = $wanted, undef, undef, %blind ? 0.02 : undef);
  $ready = "" if $count < 1;
  if (vec $ready, fileno $channel, 1) { sysread($channel, my $taken, 65536) or exit }
  # Numbers of closed files are given to the next ones, so that both lists are made before either is acted on.
  my ($over, $begun) = map { [grep { vec $ready, $_, 1 } keys %$_] } \\%watched, \\%starting;
  for my $number (@$over) {
    my ($pid, $id) = @{ delete $watched{$number} };
    waitpid $pid, 0;
    ended($id, $?);
  }
  started(@{ delete $starting{$_} }) for @$begun;
  if (vec $ready, 0, 1) { sysread(STDIN, $requests, 65536, length $requests) or exit }
  obey();
  for my $pid (grep { waitpid($_, 1) > 0 } keys %blind) { ended(delete $blind{$pid}, $?) }
}
`;
