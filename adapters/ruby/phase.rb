# frozen_string_literal: true

# A phase: its workers, their samples and failures. SPEC sections 5, 7 and 8.

# A message that is answered by an error of this code.
class Refusal < StandardError
  attr_reader :code

  def initialize(code, message)
    super(message)
    @code = code
  end
end

# The server answered, but not right by the contract.
class WrongAnswer < StandardError; end

# Failures by code and name, of all workers.
class Errors
  MESSAGE_MAX = 4_096

  def self.told(message)
    message.dup.force_encoding(Encoding::UTF_8).scrub[0, MESSAGE_MAX]
  end

  def initialize
    @named = {}
    @lock = Mutex.new
  end

  # Counts the failure and returns the sample's outcome.
  def note(error)
    return record(1, 0, 'WrongAnswer', error.message) if error.is_a?(WrongAnswer)

    is_timeout, code, name, message = Dialect.failure(error)
    record(is_timeout ? 3 : 2, code, name, message)
  end

  def report
    @named.values
  end

  private

  def record(outcome, code, name, message)
    @lock.synchronize do
      @named[[code, name]] ||= { code: code, name: name, count: 0, message: Errors.told(message) }
      @named[[code, name]][:count] += 1
    end
    outcome
  end
end

# Attempts of transactions after the first, of all workers.
class Retries
  attr_reader :count

  def initialize
    @count = 0
    @lock = Mutex.new
  end

  def add
    @lock.synchronize { @count += 1 }
  end
end

# Samples of one thread on their way to the file.
class Samples
  # The contract allows 32,768 samples. Fewer cost no more, and take less of the measured memory.
  BUFFER_BYTES = 4_096 * 32
  HELD_NS = 1_000_000_000

  def initialize(file)
    @file = file
    @buffer = String.new(capacity: BUFFER_BYTES)
  end

  def begin(began_ns)
    @due_ns = began_ns + HELD_NS
  end

  def add(intended_ns, start_ns, end_ns, index, operation, outcome, worker)
    [intended_ns, start_ns, end_ns - start_ns, index, operation, outcome, worker]
      .pack('Q<3L<C2S<', buffer: @buffer)
    return if @buffer.bytesize < BUFFER_BYTES && end_ns < @due_ns

    flush
    @due_ns = end_ns + HELD_NS
  end

  # One system call, whole or an error: threads share the file without a lock.
  def flush
    written = @file.syswrite(@buffer)
    raise IOError, 'the sample file takes no more' if written != @buffer.bytesize

    @buffer.clear
  end
end

# The numbers of a slice's operations that have not begun.
class Numbers
  def initialize(limit)
    @limit = limit || Float::INFINITY
    @next = 0
  end

  def take
    return if exhausted?

    @next += 1
    @next - 1
  end

  def exhausted?
    @next >= @limit
  end
end

# The numbers of a queue that all workers take from.
class SharedNumbers < Numbers
  def initialize(limit)
    super
    @lock = Mutex.new
  end

  def take
    @lock.synchronize { super }
  end
end

# Threads that sleep until a turn, run it together, and report when the last one is done.
class Crew
  def initialize(members)
    @lock = Mutex.new
    @gates = members.map { Queue.new }
    @threads = members.zip(@gates).map { |member, gate| Thread.new { serve(member, gate) } }
  end

  # The block is given what ended a member, or nil.
  def go(began_ns, &done)
    @done = done
    @problem = nil
    @working = @gates.size
    @gates.each { |gate| gate << began_ns }
  end

  def dismiss
    @gates.each(&:close)
    @threads.each(&:join)
  end

  private

  def serve(member, gate)
    while (began_ns = gate.pop)
      begin
        member.turn(began_ns)
      rescue Exception => e # rubocop:disable Lint/RescueException -- or the core would hang
        problem = e
      end
      last = @lock.synchronize do
        @problem ||= problem
        (@working -= 1).zero?
      end
      @done.call(@problem) if last
    end
  end
end

# The operations of a worker, one after the other.
class Worker
  NAP_NS = 100_000_000 # a sleeper looks this often whether it has been stopped

  attr_reader :documents, :sum, :gave_up, :held

  def initialize(phase, place, producer)
    @phase = phase
    @schedule = phase.schedule
    @clock = phase.clock
    @producer = producer
    @item = Item.new(producer, phase.clock)
    @samples = Samples.new(phase.file)
    slice = phase.queued ? 0 : place
    @numbers = phase.numbers[slice]
    @first = slice * @schedule.length
    # The worker's own client comes first, and the others after it in turn.
    own = phase.deals ? slice : place
    @plans = phase.plans.map { |make, calls| [make, calls.rotate(own)] }
    @documents = @sum = @failures = 0
  end

  def turn(began_ns)
    @samples.begin(began_ns)
    last_ns = began_ns
    while last_ns < @phase.until_ns && !@gave_up && (number = @held || @numbers.take)
      @held = nil
      lap, position = number.divmod(@schedule.length)
      record = @schedule.record(@first + position)
      due_ns = @phase.due_ns(lap, record)
      unless due_ns.nil? || sleep_until(due_ns)
        @held = number
        break
      end
      last_ns = carry_out(record, lap, number, due_ns)
      break unless @phase.think_ns.nil? || sleep_until(last_ns + @phase.think_ns)
    end
    @samples.flush
  end

  private

  # False if the turn ends before. Spinning would hold the interpreter's lock.
  def sleep_until(due_ns)
    while due_ns < @phase.until_ns
      left_ns = due_ns - @clock.now_ns
      return true unless left_ns.positive?

      sleep([left_ns, NAP_NS].min / 1e9)
    end
    false
  end

  def carry_out(record, lap, number, due_ns)
    @phase.makers.begin(@item, record, lap, number)
    make, calls = @plans[record[Schedule::OPERATION]]
    call = calls[@phase.deals ? number % calls.size : 0]
    given = make.call(record, @item)
    begin
      start_ns = @clock.now_ns
      answer = call.call(*given)
      end_ns = @clock.now_ns
    rescue StandardError => e
      end_ns = @clock.now_ns
    end
    outcome = e ? fail(e) : accept(answer)
    @samples.add(due_ns || start_ns, start_ns, end_ns, number, record[Schedule::OPERATION], outcome,
                 @producer)
    end_ns
  end

  def accept(answer)
    @failures = 0
    if answer
      @documents += answer[0]
      @sum += answer[1]
    end
    0
  end

  def fail(error)
    @failures += 1
    @gave_up = true if @failures >= @phase.errors_consecutive_max
    @phase.errors.note(error)
  end
end

# The state from `prepare` to `end`.
class Phase
  attr_reader :clock, :schedule, :makers, :plans, :numbers, :queued, :deals, :think_ns, :until_ns,
              :errors, :errors_consecutive_max, :file

  def initialize(message, session, clock)
    @clock = clock
    @errors = Errors.new
    @errors_consecutive_max = message['errors_consecutive_max']
    pace(message)
    @deals = session[:deal] == 'operation'
    @schedule = Schedule.new(message['schedule'])
    @makers = Makers.new(message, @schedule)
    @operations = message['operations']
    @plans = @operations.map { |spec| [@makers.maker(spec), calls(spec, session)] }
    @file = File.open(message['samples'], 'wb')
    @workers = Array.new(message['workers']) do |place|
      Worker.new(self, place, message['first_worker'] + place)
    end
    @crew = Crew.new(@workers)
    @collected = collected
  end

  def turn(until_ns, &done)
    @until_ns = until_ns
    @began_ns = @clock.now_ns
    @origin_ns ||= @began_ns
    @crew.go(@began_ns, &done)
  end

  def stop
    @until_ns = 0
  end

  # When an operation of a queue is due; nil: at once.
  def due_ns(lap, record)
    return unless @queued
    return @origin_ns if @mode == 'burst'

    @origin_ns + record[Schedule::INTENDED] + (lap * @schedule.lap_ns)
  end

  def done
    { began_ns: @began_ns, gave_up: @workers.any?(&:gave_up),
      exhausted: @workers.none?(&:held) && @numbers.all?(&:exhausted?) }
  end

  def finish
    @crew.dismiss
    @file.close
    runtime = collected.merge(@collected) { |_name, now, before| now - before }
    totals = { documents: @workers.sum(&:documents), sum: @workers.sum(&:sum),
               retries: @retries&.count }.compact
    { totals: totals,
      errors: @errors.report, runtime: runtime }
  end

  private

  def pace(message)
    @mode, @think_ns = message['pacing'].values_at('mode', 'think_ns')
    @queued = %w[rate burst].include?(@mode)
    slices = @queued ? 1 : message['workers']
    limits = message['limits'] || ([nil] * slices)
    @numbers = limits.map { |limit| @queued ? SharedNumbers.new(limit) : Numbers.new(limit) }
  end

  def calls(spec, session)
    session[:clients].map do |client|
      operation = Dialect::Operation.new(spec, client, session[:database])
      operation.take_parts(parts(client, session), @retries) if spec['kind'] == 'transaction'
      operation.method(spec['kind'])
    end
  end

  def parts(client, session)
    @retries ||= Retries.new
    @operations.map do |spec|
      Dialect::Operation.new(spec, client, session[:database]) if spec['kind'] != 'transaction'
    end
  end

  def collected
    return { gc_count: GC.count } unless GC.respond_to?(:total_time) # Ruby 3.0 and before

    { gc_count: GC.count, gc_ns: GC.total_time }
  end
end
