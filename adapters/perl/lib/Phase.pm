package Phase;

# A phase with its one worker: schedule, samples, failures. SPEC sections 5, 7 and 8.

use 5.014;
use strict;
use warnings;

use Time::HiRes qw(clock_gettime usleep CLOCK_MONOTONIC);

use Clock;
use Dialect;
use Documents;
use Transaction;

use constant {
    HEADER_BYTES => 32,
    BUFFER_BYTES => 4_096 * 32,
    SHIFTS       => 1,
    HELD_NS      => 1_000_000_000
};
use constant NAP_NS => 100_000_000;    # a sleeper looks this often whether it has been stopped

my @TOTALS = qw(documents sum retries);

sub new {
    my ( $class, $message, $session ) = @_;
    my $self = bless {
        documents  => 0,
        sum        => 0,
        failures   => 0,
        gave_up    => 0,
        number     => 0,
        errors     => {},
        deals      => $session->{deal} eq 'operation',
        limit      => $message->{limits} ? $message->{limits}[0] : 9**9**9,    # infinite
        item       => { producer => $message->{first_worker} },
        operations => $message->{operations},
        map { $_ => $message->{$_} } qw(lap_step item_step errors_consecutive_max),
    }, $class;
    $self->{mode}     = $message->{pacing}{mode};
    $self->{think_ns} = $message->{pacing}{think_ns};
    $self->{queued}   = $self->{mode} eq 'rate' || $self->{mode} eq 'burst';
    $self->read_schedule( $message->{schedule} );
    $self->{pools} =
        [ map { [ Documents::split_pool( Documents::read_file( $_ ) ) ] } @{ $message->{pools} } ];
    $self->name_options( $_ ) for @{ $self->{operations} };
    $self->{plans} = [
        map {
            my $spec = $_;
            [
                $self->maker( $spec ),
                map { $self->bind_call( $spec, $_, $session->{database} ) } @{ $session->{clients} }
            ]
        } @{ $message->{operations} }
    ];
    delete $self->{pools};
    open $self->{file}, '>:raw', $message->{samples} or die "$message->{samples}: $!\n";
    return $self;
}

sub bind_call {
    my ( $self, $spec, @where ) = @_;
    return Dialect::bind_call( $spec, @where ) if $spec->{kind} ne 'transaction';
    $self->{retries} = 0;
    return Transaction::bind_call( $spec, @where, $self->{operations}, \$self->{retries} );
}

sub read_schedule {
    my ( $self, $path ) = @_;
    my $bytes = Documents::read_file( $path );
    my ( $magic, $record_bytes, $records, undef, undef, $lap_ns ) = unpack 'a8V4Q<', $bytes;
    die "$path is no schedule\n" if $magic ne 'MDYNSCH2';
    @{$self}{qw(schedule record_bytes length lap_ns)} =
        ( $bytes, $record_bytes, $records, $lap_ns );
    return;
}

# Turns the item into the record at that place: the values that stamps take, and what to do.
sub read_record {
    my ( $self, $item, $place, $lap, $number ) = @_;
    my $size   = $self->{record_bytes};
    my $record = substr $self->{schedule}, HEADER_BYTES + $place * $size, $size;
    ( @{$item}{qw(intended_ns key document count operation)}, my $flags, $item->{guid} ) =
        unpack 'Q<2V2C2x6a*', $record;
    my $shift = $flags & SHIFTS ? $lap * $self->{lap_step} : 0;
    $item->{key} += $shift;
    @{$item}{qw(shift lap sequence)} = ( $shift, $lap, $number );
    return;
}

# For each operation a function of an item that makes what the call is given.
sub maker {
    my ( $self, $spec ) = @_;
    my $kind = $spec->{kind};
    return $self->parts_maker( $kind ) if $kind eq 'bulk_write' || $kind eq 'transaction';
    return $self->batch_maker( $spec )
        if $spec->{documents} && ( $kind eq 'insert_many' || $kind eq 'noop' );
    my @builders =
        map { $self->builder( $spec, $_ ) } grep { $spec->{$_} } @{ $Dialect::KINDS{$kind} };
    return $builders[0] if @builders == 1 && $kind ne 'find';
    return sub {
        my ( $item ) = @_;
        return ( $kind eq 'find' ? $item->{count} : (), map { $_->( $item ) } @builders );
    };
}

# Options that name a document become that document, the same for all operations.
sub name_options {
    my ( $self, $spec ) = @_;
    for my $name ( grep { ref $spec->{$_} } qw(sort hint collation) ) {
        my $given = $spec->{$name};
        my $bytes = $self->{pools}[ $given->{pool} ][ $given->{document} ];
        $spec->{$name} = Dialect::option( $name, Dialect::decode_ordered( $bytes ) );
    }
    return;
}

sub builder {
    my ( $self, $spec, $name ) = @_;
    my $given = $spec->{$name};
    my @pool  = @{ $self->{pools}[ $given->{pool} ] };
    @pool = $pool[ $given->{document} ] if $name ne 'documents';
    my $decode =
        $name eq 'pipeline' || $name eq 'command' ? \&Dialect::decode_ordered : \&Dialect::decode;
    return Documents::builder( [ map { Documents::copier( $decode->( $_ ) ) } @pool ],
        $given->{stamps} );
}

sub batch_maker {
    my ( $self, $spec ) = @_;
    my $build = $self->builder( $spec, 'documents' );
    my $step  = $self->{item_step};
    return sub {
        my ( $item ) = @_;
        my ( $key, $shift, $sequence, $document ) = @{$item}{qw(key shift sequence document)};
        return [
            map {
                @{$item}{qw(key shift sequence document)} =
                    ( $key + $_ * $step, $shift + $_ * $step, $sequence + $_, $document + $_ );
                $build->( $item );
            } 0 .. $item->{count} - 1
        ];
    };
}

sub parts_maker {
    my ( $self, $kind ) = @_;
    my @makers =
        map { $Dialect::PARTS{ $_->{kind} } ? $self->maker( $_ ) : undef } @{ $self->{operations} };
    return sub {
        my ( $item ) = @_;
        my %part     = %{$item};
        my $first    = $self->{length} + $item->{document};    # parts follow the records
        my @parts;
        for my $j ( 0 .. $item->{count} - 1 ) {
            $self->read_record( \%part, $first + $j, $item->{lap}, $item->{sequence} + $j );
            my $number = $part{operation};
            my @given  = $makers[$number]->( \%part );
            push @parts, $kind eq 'transaction'
                ? [ $number, @given ]
                : Dialect::part( $self->{operations}[$number], @given );
        }
        return \@parts;
    };
}

sub stop {
    my ( $self ) = @_;
    $self->{until_ns} = 0;
    return;
}

sub turn {
    my ( $self, $until_ns ) = @_;
    $self->{until_ns} = $until_ns;
    my $began_ns = Clock::now_ns();
    $self->{origin_ns} //= $began_ns;
    $self->work( $began_ns );
    return {
        began_ns  => $began_ns,
        exhausted => $self->{number} >= $self->{limit},
        gave_up   => $self->{gave_up},
    };
}

# Written in one piece: between two operations of the driver, calls and steps of Perl cost more than
# in a plain loop, because the driver pushes them out of the CPU's caches.
sub work {
    my ( $self, $last_ns )             = @_;
    my ( $item, $plans, $number )      = @{$self}{qw(item plans number)};
    my ( $length, $limit, $think_ns )  = @{$self}{qw(length limit think_ns)};
    my ( $deals, $queued )             = @{$self}{qw(deals queued)};
    my ( $producer, $buffer, $due_ns ) = ( $item->{producer}, q{} );
    my $write_ns = $last_ns + HELD_NS;
    while ( $last_ns < $self->{until_ns} && $number < $limit && !$self->{gave_up} ) {
        $self->read_record( $item, $number % $length, int $number / $length, $number );
        last if $queued && !$self->sleep_until( $due_ns = $self->due_ns( $item ) );
        my $operation = $item->{operation};
        my $plan      = $plans->[$operation];
        my $call      = $plan->[ $deals ? 1 + $number % $#{$plan} : 1 ];
        my @given     = $plan->[0]->( $item );
        my ( $documents, $sum );
        my $start_s  = clock_gettime( CLOCK_MONOTONIC );
        my $is_right = eval { ( $documents, $sum ) = $call->( @given ); 1 };
        my $end_s    = clock_gettime( CLOCK_MONOTONIC );
        my $outcome  = 0;

        if ( !$is_right ) {
            $outcome = $self->note( $@ );
        }
        else {
            $self->{failures} = 0;
            if ( $documents ) {
                $self->{documents} += $documents;
                $self->{sum}       += $sum;
            }
        }
        my $start_ns = 0 | ( $start_s - $Clock::EPOCH_S ) * 1e9;
        $last_ns = 0 | ( $end_s - $Clock::EPOCH_S ) * 1e9;
        $buffer .= pack 'Q<3VC2v', $due_ns // $start_ns, $start_ns, $last_ns - $start_ns,
            $number++, $operation, $outcome, $producer;
        if ( $last_ns >= $write_ns || length $buffer >= BUFFER_BYTES ) {
            $self->write_samples( $buffer );
            ( $buffer, $write_ns ) = ( q{}, $last_ns + HELD_NS );
        }
        last if $think_ns && !$self->sleep_until( $last_ns + $think_ns );
    }
    $self->{number} = $number;
    $self->write_samples( $buffer );
    return;
}

# When an operation of a queue is due.
sub due_ns {
    my ( $self, $item ) = @_;
    return $self->{origin_ns} if $self->{mode} eq 'burst';
    return $self->{origin_ns} + $item->{intended_ns} + $item->{lap} * $self->{lap_ns};
}

# Returns false if the turn ends before.
sub sleep_until {
    my ( $self, $due_ns ) = @_;
    while ( $due_ns < $self->{until_ns} ) {
        my $left_ns = $due_ns - Clock::now_ns();
        return 1 if $left_ns <= 0;
        usleep( ( $left_ns < NAP_NS ? $left_ns : NAP_NS ) / 1_000 );
    }
    return 0;
}

# Counts a failure by its code and name; returns the sample's outcome.
sub note {
    my ( $self, $fault ) = @_;
    $self->{gave_up} = 1 if ++$self->{failures} >= $self->{errors_consecutive_max};
    my ( $outcome, $code, $name, $message ) = Dialect::failure( $fault );
    my $error = $self->{errors}{"$code $name"} //=
        { code => 0 + $code, name => $name, count => 0, message => substr $message, 0, 4_096 };
    $error->{count}++;
    return $outcome;
}

sub write_samples {
    my ( $self, $samples ) = @_;
    while ( length $samples ) {
        my $written = syswrite $self->{file}, $samples;
        die "the sample file takes no more: $!\n" if !defined $written && !$!{EINTR};
        substr $samples, 0, $written // 0, q{};
    }
    return;
}

sub finish {
    my ( $self ) = @_;
    close $self->{file} or die "the sample file: $!\n";
    return {
        totals => { map { defined $self->{$_} ? ( $_ => $self->{$_} ) : () } @TOTALS },
        errors => [ values %{ $self->{errors} } ],
    };
}

1;
