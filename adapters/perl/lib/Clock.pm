package Clock;

# CLOCK_MONOTONIC less the core's epoch.

use 5.014;
use strict;
use warnings;

use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);

my $epoch_s = 0;

sub set_epoch {
    my ( $epoch_ns ) = @_;
    $epoch_s = $epoch_ns / 1e9;
    return;
}

# Seconds are floats: their difference is small, so as ns it is exact enough.
sub ns_of {
    my ( $s ) = @_;
    return 0 | ( $s - $epoch_s ) * 1e9;
}

sub now_ns {
    return 0 | ( clock_gettime( CLOCK_MONOTONIC ) - $epoch_s ) * 1e9;
}

1;
