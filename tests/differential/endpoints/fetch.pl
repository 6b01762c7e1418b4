# SPDX-License-Identifier: GPL-2.0-or-later
# Fetches URL/N for each N of a file with LWP, and writes the results in the format of http_clients.py. Arguments: URL,
# number of this process, number of processes.
use strict;
use warnings;
use LWP::UserAgent;
use MIME::Base64;

$SIG{__WARN__} = sub { };
my ($base, $share, $shares) = @ARGV;
my $agent = LWP::UserAgent->new(timeout => 5, max_redirect => 0, env_proxy => 0);
$agent->default_header('Accept-Encoding' => 'gzip, deflate, x-gzip, bzip2');
open(my $numbers, '<', '/endpoint/numbers') or die;
open(my $out, '>', "/endpoint/results.$share") or die;
while (my $n = <$numbers>) {
	chomp $n;
	next if ($. - 1) % $shares != $share;
	my $answer = eval { local $SIG{ALRM} = sub { die }; alarm 10; my $a = $agent->get($base . $n); alarm 0; $a } or next;
	next if ($answer->header('Client-Warning') // '') eq 'Internal response';
	my $content = $answer->content;
	my $decoded = eval { $answer->decoded_content(charset => 'none') };
	my $good = defined($decoded) && !$answer->header('Client-Aborted') && !$answer->header('X-Died');
	my @fields = ($answer->code, $answer->message // '', $answer->headers->as_string, $decoded // $content, $answer->filename // '');
	s/([^\x00-\xff])/?/g for @fields;
	print $out join("\t", $n, $good ? 1 : 0, map { encode_base64($_, '') } @fields), "\n";
}
