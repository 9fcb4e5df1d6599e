# frozen_string_literal: true

# Tests of the driver's peculiarities, for mongo 2.x; `mongodyno check` replays the vectors.
# MDYN_URI adds those on a server.

require 'minitest/autorun'
require 'tmpdir'
require_relative 'adapter'

URI_OF_SERVER = ENV.fetch('MDYN_URI', nil)
FOREVER_NS = (2**53) - 1

# An adapter as a child.
class Child
  attr_reader :pid

  def initialize(folder)
    @folder = folder
    # popen would not do: its one object for both ends would be freed with the first.
    reader, @out = IO.pipe
    @in, writer = IO.pipe
    @pid = spawn(RbConfig.ruby, File.join(__dir__, 'adapter.rb'),
                 in: reader, out: writer, err: File.join(folder, 'log'))
    [reader, writer].each(&:close)
    epoch_ns = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
    ask('hello', protocol: 2, epoch_ns: epoch_ns.to_s)
  end

  def exit_code
    @exit_code ||= Process.wait2(@pid).last.exitstatus
  end

  def end
    @out.close
    exit_code
  end

  def write(type, **fields)
    @out.puts(JSON.generate({ type: type, **fields }))
  end

  def ask(type, **fields)
    write(type, **fields)
    JSON.parse(@in.gets[1..])
  end

  def open(uri, database = 'mdyn_x')
    options = URI.decode_www_form(uri[/\?(.*)/, 1].to_s).to_h
    ask('open', deal: 'worker', database: database, clients: [{ uri: uri, options: options }])
  end

  # `records` are pairs: when it is intended, and the operation's number.
  def prepare(operations, records, pool = [], **changes)
    head = ['MDYNSCH2', 32, records.size, 1, 0, 0].pack('a8L<4Q<')
    rows = records.map { |at, number| [at, 0, 0, 1, number, 0].pack('Q<2L<2C2x6') }
    File.binwrite(path('schedule'), head + rows.join)
    File.binwrite(path('pool'), pool.map { |document| document.to_bson.to_s }.join)
    ask('prepare', schedule: path('schedule'), pools: [path('pool')], samples: path('samples'),
                   operations: operations, workers: 1, first_worker: 0, limits: [records.size],
                   pacing: { mode: 'awaited' }, lap_step: 0, item_step: 0,
                   errors_consecutive_max: 10, **changes)
  end

  def outcomes
    File.binread(path('samples')).scan(/.{32}/mn).map { |sample| sample.getbyte(29) }
  end

  private

  def path(name)
    File.join(@folder, name)
  end
end

# Runs with a private folder.
class Case < Minitest::Test
  def setup
    @folder = Dir.mktmpdir
    @child = nil
  end

  def teardown
    @child&.end
    FileUtils.remove_entry(@folder)
  end

  def child
    @child ||= Child.new(@folder)
  end
end

# Tests of the dialect.
class TestDialect < Case
  def test_failures_have_the_code_of_the_server
    bulk = Mongo::Error::BulkWriteError.new('writeErrors' => [{ 'code' => 11_000,
                                                                'errmsg' => 'E11000' }])
    assert_equal [false, 11_000, 'BulkWriteError', 'E11000'], Dialect.failure(bulk)
    late = Mongo::Error::SocketTimeoutError.new('late')
    assert_equal [true, 0, 'SocketTimeoutError', 'late'], Dialect.failure(late)
    assert Dialect.failure(Timeout::Error.new('no connection was free')).first
  end

  def test_the_code_of_an_operation
    text = 'operation exceeded time limit (50)'
    told = Mongo::Error::OperationFailure.method_defined?(:code) ? [nil, { code: 50 }] : []
    error = Mongo::Error::OperationFailure.new(text, *told)
    assert_equal [true, 50], Dialect.failure(error).first(2)
  end

  def test_copies_are_plain_and_share_what_is_frozen
    written = { 'a' => [{ 'b' => BSON::Binary.new('xy') }], 'c' => 'text' }.to_bson.to_s
    copy = Documents.copier(Dialect.decode_all(written).first)
    first, second = Array.new(2) { copy.call }
    assert_instance_of Hash, first
    assert_same first['c'], second['c']
    assert_predicate first['c'], :frozen?
    refute_same first['a'][0]['b'].data, second['a'][0]['b'].data
    first['a'][0]['d'] = 1
    refute second['a'][0].key?('d')
  end
end

# Tests of the program, without a server.
class TestProgram < Case
  def test_sigterm_in_sleep
    child.prepare([{ name: 'noop', kind: 'noop' }], [[0, 0], [60_000_000_000, 0]],
                  pacing: { mode: 'rate' })
    child.write('turn', until_ns: FOREVER_NS)
    sleep(0.3)
    Process.kill('TERM', child.pid)
    assert_equal 0, child.exit_code
    assert_equal [0], child.outcomes
  end

  def test_refused_connection_strings
    %w[nonsense=1 maxPoolSize=many journal=maybe readPreference=bogus compressors=nonsense
       w=0&journal=true authMechanism=bogus minPoolSize=9&maxPoolSize=3].each do |options|
      answer = child.open("mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=300&#{options}")
      assert_equal 'unsupported', answer['code'], "#{options}: #{answer}"
    end
    nobody = child.open('mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=300')
    assert_equal 'connect', nobody['code'], nobody
  end
end

# Tests on a server.
class TestServer < Case
  def setup
    skip('MDYN_URI names no server') unless URI_OF_SERVER
    super
    @database = "mdyn_ruby_#{Process.pid}"
    @client = Mongo::Client.new(URI_OF_SERVER).use(@database)
  end

  def teardown
    return unless @client

    @client.database.drop
    @client.close
    super
  end

  def opened(options)
    base, asked = URI_OF_SERVER.split('?')
    base += '/' unless base.match?(%r{//.*/})
    answer = child.open("#{base}?#{[asked, options].compact.join('&')}", @database)
    assert_equal 'opened', answer['type'], answer
    answer['resolved']
  end

  def test_resolved
    resolved = opened('w=majority&journal=true&readPreference=secondaryPreferred&maxPoolSize=7')
    assert_equal({ 'w' => 'majority', 'j' => true }, resolved['write_concern'])
    assert_equal ['secondaryPreferred', 7], resolved.values_at('read_preference', 'max_pool_size')
  end

  def test_refused_credentials
    host = URI_OF_SERVER[%r{//(?:.*@)?([^/?]*)}, 1]
    assert_equal 'auth', child.open("mongodb://me:hush@#{host}/?authSource=admin")['code']
  end

  def test_concerns_of_commands_are_fields
    opened('maxPoolSize=7')
    ping = { name: 'count', kind: 'command', read_concern: 'local', read_preference: 'nearest',
             command: { pool: 0, document: 0, stamps: [] } }
    wrong = ping.merge(read_concern: 'nonsense')
    child.prepare([ping, wrong], [[0, 0], [0, 1]], [{ 'count' => 'items' }])
    child.ask('turn', until_ns: FOREVER_NS)
    assert_equal [0, 2], child.outcomes
  end

  def test_a_timeout_of_the_socket
    @client['items'].insert_one(_id: 1)
    opened('socketTimeoutMS=250')
    slow = { '$expr' => { '$function' => { 'body' => 'function() { sleep(2000); return true }',
                                           'args' => [], 'lang' => 'js' } } }
    child.prepare([{ name: 'find', kind: 'find', collection: 'items',
                     filter: { pool: 0, document: 0, stamps: [] } }], [[0, 0]], [slow])
    child.ask('turn', until_ns: FOREVER_NS)
    assert_equal [3], child.outcomes
  end
end
