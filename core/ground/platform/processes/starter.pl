# Enters namespaces, makes a view and becomes the program: the words of all three are its arguments.
my ($user, $net, $filter, $count, @command) = @ARGV;
my @view = splice @command, 0, $count;
eval {
  enter($user, $net);
  my $calls;
  $filter eq "" or open($calls, "<", $filter) or die;
  splice @command, 1, 0, "--seccomp", kept($calls) if $calls;
  make_view(@view) if @view;
  exec { $command[0] } @command;
};
print STDERR "Cannot make the agent's view of the disk: $place: $!\n";
exit 71;
