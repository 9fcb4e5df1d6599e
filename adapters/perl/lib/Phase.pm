package Phase;

# A phase with its one worker: schedule, samples, failures. SPEC sections 5, 7 and 8.

use 5.014;
use strict;
use warnings;

use Time::HiRes qw(clock_gettime usleep CLOCK_MONOTONIC);

use Clock;
use Dialect;
use Documents;

# Fields of a record of the schedule.
use constant {
    INTENDED  => 0,
    KEY       => 1,
    DOCUMENT  => 2,
    COUNT     => 3,
    OPERATION => 4,
    FLAGS     => 5,
    GUID      => 6
};
use constant { HEADER_BYTES => 32, BUFFER_BYTES => 4_096 * 32, HELD_NS => 1_000_000_000 };
use constant NAP_NS => 100_000_000;    # a sleeper looks this often whether it has been stopped

sub new {
    my ( $class, $message, $session ) = @_;
    my $self = bless {
        documents  => 0,
        sum        => 0,
        failures   => 0,
        gave_up    => 0,
        number     => 0,
        errors     => {},
        buffer     => q{},
        deals      => $session->{deal} eq 'operation',
        limit      => $message->{limits} ? $message->{limits}[0] : undef,
        producer   => $message->{first_worker},
        operations => $message->{operations},
        map { $_ => $message->{$_} } qw(lap_step item_step errors_consecutive_max),
    }, $class;
    $self->{mode}     = $message->{pacing}{mode};
    $self->{think_ns} = $message->{pacing}{think_ns};
    $self->{queued}   = $self->{mode} eq 'rate' || $self->{mode} eq 'burst';
    $self->read_schedule( $message->{schedule} );
    $self->{pools} =
        [ map { [ Documents::split_pool( Documents::read_file( $_ ) ) ] } @{ $message->{pools} } ];
    $self->{plans} = [
        map {
            my $spec = $_;
            [
                $self->maker( $spec ),
                map { Dialect::bind_call( $spec, $_, $session->{database} ) }
                    @{ $session->{clients} }
            ]
        } @{ $message->{operations} }
    ];
    delete $self->{pools};
    open $self->{file}, '>:raw', $message->{samples} or die "$message->{samples}: $!\n";
    return $self;
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

sub record {
    my ( $self, $place ) = @_;
    my $at = HEADER_BYTES + $place * $self->{record_bytes};
    return unpack 'Q<2V2C2x6a*', substr $self->{schedule}, $at, $self->{record_bytes};
}

sub item {
    my ( $self, $record, $lap, $sequence ) = @_;
    my $shift = $record->[FLAGS] & 1 ? $lap * $self->{lap_step} : 0;
    return {
        key      => $record->[KEY] + $shift,
        sequence => $sequence,
        producer => $self->{producer},
        guid     => $record->[GUID],
        shift    => $shift,
        lap      => $lap,
    };
}

# Of an operation a function of a record and its item that makes what the call is given.
sub maker {
    my ( $self, $spec ) = @_;
    my $kind = $spec->{kind};
    return $self->bulk_maker if $kind eq 'bulk_write';
    return $self->batch_maker( $spec )
        if $spec->{documents} && ( $kind eq 'insert_many' || $kind eq 'noop' );
    my @builders =
        map { $self->builder( $spec, $_ ) } grep { $spec->{$_} } @{ $Dialect::KINDS{$kind} };
    return sub {
        my ( $record, $item ) = @_;
        return map { $_->( $record->[DOCUMENT], $item ) } @builders;
        }
        if $kind ne 'find';
    return sub {
        my ( $record, $item ) = @_;
        return ( $record->[COUNT], map { $_->( 0, $item ) } @builders );
    };
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
        my ( $record, $item ) = @_;
        my ( $key, $shift, $sequence ) = @{$item}{qw(key shift sequence)};
        return [
            map {
                @{$item}{qw(key shift sequence)} =
                    ( $key + $_ * $step, $shift + $_ * $step, $sequence + $_ );
                $build->( $record->[DOCUMENT] + $_, $item );
            } 0 .. $record->[COUNT] - 1
        ];
    };
}

sub bulk_maker {
    my ( $self ) = @_;
    my @makers =
        map { $Dialect::PARTS{ $_->{kind} } ? $self->maker( $_ ) : undef } @{ $self->{operations} };
    return sub {
        my ( $record, $item ) = @_;
        my @parts;
        for my $j ( 0 .. $record->[COUNT] - 1 ) {

            # Parts stand behind the records.
            my @part = $self->record( $self->{length} + $record->[DOCUMENT] + $j );
            my $own  = $self->item( \@part, $item->{lap}, $item->{sequence} + $j );
            push @parts,
                Dialect::part(
                $self->{operations}[ $part[OPERATION] ],
                $makers[ $part[OPERATION] ]->( \@part, $own )
                );
        }
        return \@parts;
    };
}

sub stop {
    my ( $self ) = @_;
    $self->{until_ns} = 0;
    return;
}

sub exhausted {
    my ( $self ) = @_;
    return defined $self->{limit} && $self->{number} >= $self->{limit};
}

sub turn {
    my ( $self, $until_ns ) = @_;
    $self->{until_ns} = $until_ns;
    my $began_ns = my $last_ns = Clock::now_ns();
    $self->{origin_ns} //= $began_ns;
    $self->{due_ns} = $began_ns + HELD_NS;
    while ( $last_ns < $self->{until_ns} && !$self->{gave_up} && !$self->exhausted ) {
        my $number = $self->{number};
        my $lap    = int $number / $self->{length};
        my @record = $self->record( $number % $self->{length} );
        my $due_ns = $self->{queued} ? $self->due_ns( $lap, $record[INTENDED] ) : undef;
        last if defined $due_ns && !$self->sleep_until( $due_ns );
        $self->{number}++;
        $last_ns = $self->carry_out( \@record, $lap, $number, $due_ns );
        last if $self->{think_ns} && !$self->sleep_until( $last_ns + $self->{think_ns} );
    }
    $self->flush;
    return {
        began_ns  => $began_ns,
        exhausted => $self->exhausted ? $Dialect::TRUE : $Dialect::FALSE,
        gave_up   => $self->{gave_up} ? $Dialect::TRUE : $Dialect::FALSE,
    };
}

# When an operation of a queue is due.
sub due_ns {
    my ( $self, $lap, $intended_ns ) = @_;
    return $self->{origin_ns} if $self->{mode} eq 'burst';
    return $self->{origin_ns} + $intended_ns + $lap * $self->{lap_ns};
}

# False if the turn ends before.
sub sleep_until {
    my ( $self, $due_ns ) = @_;
    while ( $due_ns < $self->{until_ns} ) {
        my $left_ns = $due_ns - Clock::now_ns();
        return 1 if $left_ns <= 0;
        usleep( ( $left_ns < NAP_NS ? $left_ns : NAP_NS ) / 1_000 );
    }
    return 0;
}

sub carry_out {
    my ( $self, $record, $lap, $number, $due_ns ) = @_;
    my ( $make, @calls ) = @{ $self->{plans}[ $record->[OPERATION] ] };
    my $call  = $calls[ $self->{deals} ? $number % @calls : 0 ];
    my @given = $make->( $record, $self->item( $record, $lap, $number ) );
    my ( $documents, $sum );
    my $start_s  = clock_gettime( CLOCK_MONOTONIC );
    my $is_right = eval { ( $documents, $sum ) = $call->( @given ); 1 };
    my $end_s    = clock_gettime( CLOCK_MONOTONIC );
    my $outcome  = 0;

    if ( $is_right ) {
        $self->{failures} = 0;
        if ( $documents ) {
            $self->{documents} += $documents;
            $self->{sum}       += $sum;
        }
    }
    else {
        $outcome = $self->note( $@ );
    }
    my $start_ns = 0 | ( $start_s - $Clock::EPOCH_S ) * 1e9;
    my $end_ns   = 0 | ( $end_s - $Clock::EPOCH_S ) * 1e9;
    $self->{buffer} .= pack 'Q<3VC2v', $due_ns // $start_ns, $start_ns, $end_ns - $start_ns,
        $number,
        $record->[OPERATION], $outcome, $self->{producer};
    if ( $end_ns >= $self->{due_ns} || length $self->{buffer} >= BUFFER_BYTES ) {
        $self->flush;
        $self->{due_ns} = $end_ns + HELD_NS;
    }
    return $end_ns;
}

# Counts a failure by its code and name; the sample's outcome.
sub note {
    my ( $self, $fault ) = @_;
    $self->{gave_up} = 1 if ++$self->{failures} >= $self->{errors_consecutive_max};
    my ( $outcome, $code, $name, $message ) = Dialect::failure( $fault );
    my $error = $self->{errors}{"$code $name"} //=
        { code => 0 + $code, name => $name, count => 0, message => substr $message, 0, 4_096 };
    $error->{count}++;
    return $outcome;
}

sub flush {
    my ( $self ) = @_;
    while ( length $self->{buffer} ) {
        my $written = syswrite $self->{file}, $self->{buffer};
        die "the sample file takes no more: $!\n" if !defined $written && !$!{EINTR};
        substr $self->{buffer}, 0, $written // 0, q{};
    }
    return;
}

sub finish {
    my ( $self ) = @_;
    close $self->{file} or die "the sample file: $!\n";
    return {
        totals => { documents => $self->{documents}, sum => $self->{sum} },
        errors => [ values %{ $self->{errors} } ],
    };
}

1;
