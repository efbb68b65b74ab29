# Takes requests on its standard input: their length, the end of a line, and fields parted by NUL. Answers on the
# channel of Node's child processes: a line of JSON, and beside some of them an open file. It ends when the host has
# closed either.
#
# The host's ends of pipes and the sockets do not block, since the event loop that uses them must not. A program has
# started when the pipe for its problem closes by itself. Up to eight start at the same time: on a busy machine a
# process waits long for its first turn.
#
# A program's output holds 256 KiB instead of 64: programs on Node that print faster than a busy host reads, and then end
# themselves, lose what has no room there. It keeps its 64 where the system gives no more (pipe(7), /proc files).
#
# A gate is a pipe that bwrap reads from before it runs the program. Bwrap would go on at the pipe's end as well, so
# each gate is open both ways in bwrap itself: the end never comes, also when the launcher is gone.
my $launcher = $$;
open(my $channel, "+<&=", delete $ENV{NODE_CHANNEL_FD}) or die "channel: $!";
my ($requests, @queue, %starting, %gates, %watched, %blind, %holders) = ("");

sub answer {
  my $line = "$_[0]\n";
  syswrite($channel, $line) == length $line or exit 1;
}

sub hand_over {
  my ($file, $type, $about) = @_;
  my $text = qq({"cmd":"NODE_HANDLE","type":"$type","msg":$about}\n);
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
  my ($id, $waits, $cwd, $user, $net, $filter, $files, $input, $ends, $mounts, $count, @env) = @_;
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
      bound($files) if $files;
      enter($user, $net);
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

sub bound {
  my ($files) = @_;
  lower("/proc/self/oom_score_adj", $oom_score);
  my $now = pack "Q2", 0, 0;
  syscall($prlimit, 0, 7, 0, $now) == 0 or return;
  my $less = pack "Q2", map { $_ < $files ? $_ : $files } unpack "Q2", $now;
  syscall($prlimit, 0, 7, $less, 0);
}

# A system that does not let it stays as it is.
sub lower {
  my ($name, $value) = @_;
  open(my $file, ">", $name) or return;
  syswrite $file, $value;
}

sub number {
  open(my $file, "<", $_[0]) or return 0;
  return int(<$file> // 0);
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
    # One session may not take all that the user has: see lowerUserLimits in own-network.ts.
    my ($instances, $watches) = map { number("/proc/sys/fs/inotify/max_user_$_") } "instances", "watches";
    lower("/proc/sys/user/max_inotify_instances", $instances > 128 ? 32 : int($instances / 4)) if $instances;
    lower("/proc/sys/user/max_inotify_watches", int($watches / 2)) if $watches;
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

my %acts = (start => \&start, network => \&network, release => sub { delete $holders{$_[0]} });

sub obey {
  while ((my $head = index $requests, "\n") > 0) {
    my $length = substr $requests, 0, $head;
    last if length $requests < $head + 1 + $length;
    my ($act, @fields) = split /\0/, substr($requests, $head + 1, $length), -1;
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
  my ($over, $begun) = map { [grep { vec $ready, $_, 1 } keys %$_] } \%watched, \%starting;
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
