package Clock;

# CLOCK_MONOTONIC less the core's epoch.

use 5.014;
use strict;
use warnings;

use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);

our $EPOCH_S = 0;    # for the inner loop, where a call would cost more than what it does

sub set_epoch {
    my ( $epoch_ns ) = @_;
    $EPOCH_S = $epoch_ns / 1e9;
    return;
}

# Seconds are floats: their difference is small, so as ns it is exact enough.
sub now_ns {
    return 0 | ( clock_gettime( CLOCK_MONOTONIC ) - $EPOCH_S ) * 1e9;
}

1;
