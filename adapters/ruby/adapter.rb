#!/usr/bin/env ruby
# frozen_string_literal: true

# mongodyno's adapter of the gem mongo: reads a line, does it, answers a line. SPEC sections 1 to 3.

# A driver beside the adapter takes precedence over the machine's.
gems = File.join(__dir__, 'gems')
if Dir.exist?(gems)
  Gem.use_paths(gems, [gems])
  gem 'mongo'
end

require 'json'
require 'mongo'
require_relative 'documents'
require_relative 'operation'
require_relative 'phase'
require_relative 'consumer'
require_relative Mongo.const_defined?(:VERSION) ? 'dialect2' : 'dialect1'

# The conversation. The main thread only reads stdin, so that it sees its end in a turn as well.
class Adapter
  PROTOCOL = 2
  PACINGS = %w[awaited think rate burst].freeze
  THREADS = { kind: 'threads', max: nil, threads: nil }.freeze

  def run
    trap('TERM') { stop }
    $stdout.sync = true
    $stdin.binmode.each_line { |line| answer(line.force_encoding(Encoding::UTF_8)) }
    exit!(0)
  end

  private

  # In a turn nothing new is begun, and the turn's last worker ends the process.
  def stop
    @stopped = true
    exit!(0) unless @turning
    @current.stop
  end

  def answer(line)
    message = parse(line)
    handler = "on_#{message['type']}"
    raise Refusal.new('protocol', 'a message of unknown type') unless respond_to?(handler, true)

    send(handler, message)
  rescue StandardError => e
    refuse(e)
  end

  def parse(line)
    message = JSON.parse(line) if line.valid_encoding?
    message.is_a?(Hash) ? message : raise(Refusal.new('protocol', 'not a JSON object'))
  rescue JSON::ParserError => e
    raise Refusal.new('protocol', "not a line of JSON: #{e.message}")
  end

  def say(type, **fields)
    $stdout.write("\x1E#{JSON.generate({ type: type, **fields })}\n")
  end

  def refuse(error)
    warn error.full_message(highlight: false)
    code = error.is_a?(Refusal) ? error.code : 'internal'
    say('error', code: code, message: Errors.told(error.message))
  end

  def on_hello(message)
    raise Refusal.new('protocol', "protocol #{PROTOCOL} only") if message['protocol'] != PROTOCOL

    @clock = Clock.new(Integer(message['epoch_ns'], 10))
    resolution_ns = Process.clock_getres(Process::CLOCK_MONOTONIC, :nanosecond)
    say('hello',
        protocol: PROTOCOL, adapter: 'ruby', driver: Dialect.driver,
        runtime: { name: RUBY_ENGINE, version: RUBY_ENGINE_VERSION, flags: flags },
        clock: { source: 'CLOCK_MONOTONIC', resolution_ns: resolution_ns },
        capabilities: { **Dialect.capabilities, pacing: PACINGS, shapes: [], concurrency: THREADS })
  end

  # Ruby does not report the words before the program's name.
  def flags
    words = File.read('/proc/self/cmdline').split("\0")
    ENV.fetch('RUBYOPT', '').split + words[1...words.index($PROGRAM_NAME)]
  end

  def on_clock(_message)
    say('clock', now_ns: @clock.now_ns)
  end

  def on_open(message)
    clients = []
    message['clients'].each { |entry| clients << Dialect.connect(entry) }
    @session = { clients: clients, deal: message['deal'], database: message['database'] }
    say('opened', **Dialect.opened(clients.first))
  rescue StandardError
    clients.each(&:close)
    raise
  end

  def on_prepare(message)
    @current = message['consumer'] ? Consumer.new(message, @session, @clock) : phase(message)
    say('ready')
  end

  def phase(message)
    mode = message['pacing']['mode']
    raise Refusal.new('unsupported', "pacing #{mode}") unless PACINGS.include?(mode)

    message['operations'].each do |spec|
      known = Dialect.kinds.key?(spec['kind']) && !spec['shape']
      raise Refusal.new('unsupported', "operation #{spec['kind']} #{spec['shape']}") unless known
    end
    # No-ops may come before `open`.
    Phase.new(message, @session || { clients: [nil] }, @clock)
  end

  def on_turn(message)
    @turning = true
    @current.turn(message['until_ns']) do |problem|
      @turning = false
      exit!(0) if @stopped # the samples are written; a stopped turn has no answer
      problem ? refuse(problem) : say('turn_done', **@current.done)
    end
  end

  def on_end(_message)
    say('ended', **@current.finish)
  end

  def on_close(_message)
    @session && @session[:clients].each(&:close)
    say('closed')
    exit!(0)
  end

  def on_render(message)
    say('rendered', bson: Documents.render(message).unpack1('H*'))
  end
end

Adapter.new.run if $PROGRAM_NAME == __FILE__
