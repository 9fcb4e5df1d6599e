# frozen_string_literal: true

# Reads the messages of a capped collection through a tailable cursor. SPEC section 9.
class Consumer
  AWAIT_MS = 100 # limit of one await, so that the other ends are noticed in time
  REOPEN_S = 0.010

  def initialize(message, session, clock)
    asked = message['consumer']
    raise Refusal.new('unsupported', 'a consumer') unless Dialect.capabilities[:consumer_ns]

    @collection = session[:clients].first.use(session[:database])[asked['collection']]
    @expected, @marker_field = asked.values_at('expected', 'marker_field')
    @idle_ns = asked['idle_ms'] * 1_000_000
    @errors_consecutive_max = message['errors_consecutive_max']
    @clock = clock
    @errors = Errors.new
    @messages = @failures = @cursors = @positions_lost = 0
    open_at_sentinel(asked['collection'])
    @file = File.open(message['samples'], 'wb')
    @samples = Samples.new(@file)
    @crew = Crew.new([TurnOf.new(self)])
  end

  # Called by its thread.
  TurnOf = Struct.new(:consumer) do
    def turn(began_ns)
      consumer.read(began_ns)
    end
  end

  def turn(until_ns, &done)
    @until_ns = until_ns
    @began_ns = @clock.now_ns
    @crew.go(@began_ns, &done)
  end

  def stop
    @until_ns = 0
  end

  def read(began_ns)
    @samples.begin(began_ns)
    now_ns = heard_ns = began_ns
    while now_ns < @until_ns && now_ns - heard_ns < @idle_ns && !gave_up? && !@exhausted
      document = next_document
      now_ns = @clock.now_ns
      next if document.nil? || document['sentinel'] == true

      @exhausted = document.key?(@marker_field)
      next if @exhausted

      heard_ns = now_ns
      take(document, now_ns)
    end
    @samples.flush
  end

  def done
    { began_ns: @began_ns, exhausted: @exhausted ? true : false, gave_up: gave_up? }
  end

  def finish
    @crew.dismiss
    @tail&.close
    @file.close
    { totals: { documents: @messages, sum: 0 }, errors: @errors.report,
      consumer: { cursors: @cursors, positions_lost: @positions_lost } }
  end

  private

  def gave_up?
    @failures >= @errors_consecutive_max
  end

  def take(message, now_ns)
    @samples.add(message['made_ns'], now_ns, now_ns, message['sequence'], 0, 0, message['producer'])
    @messages += 1
    @exhausted = @messages >= @expected
  end

  def open_at_sentinel(name)
    @tail = tail
    sentinel = @tail.next_document
    if sentinel.nil? || sentinel['sentinel'] != true
      @tail.close
      raise "no sentinel stands first in #{name}"
    end
    @last_id = sentinel['_id'] # nil: before the oldest document
  end

  def tail
    @cursors += 1
    Dialect::Tail.new(@collection, AWAIT_MS)
  end

  # Nil if an await, or a cursor, has ended without a document.
  def next_document
    @tail ||= reopened
    document = @tail.next_document
    @failures = 0
    @last_id = document['_id'] if document
    document
  rescue *Dialect::DRIVER_ERRORS => e
    @errors.note(e)
    @failures += 1
    @tail = nil
    sleep(REOPEN_S)
    nil
  end

  # A cursor after the last document read if that still exists, otherwise at the oldest one.
  def reopened
    return tail if @last_id.nil?

    # Asked first, because a scan alone would have to keep all it passes in memory.
    behind = @collection.find(_id: @last_id).first && skipped_to(@last_id)
    return behind if behind

    @positions_lost += 1
    @last_id = nil
    tail
  end

  # A cursor after that document; nil if it was overwritten meanwhile.
  def skipped_to(id)
    cursor = tail
    while (document = cursor.next_document)
      return cursor if document['_id'] == id
    end
    cursor.close
    nil
  end
end
