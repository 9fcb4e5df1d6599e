# frozen_string_literal: true

# The least code with which a Ruby program does the adapter's work, for comparison with it.
#
# loop.rb URI DATABASE COLLECTION OPERATION WORKERS POOL. Each line of its input is the length of a
# turn in ms; it answers with the operations done and the ns they took.

require 'logger'
require 'mongo'
require 'uri'

# mongo 2.5 calls what Ruby 3.0 has dropped.
unless URI.respond_to?(:decode)
  URI.define_singleton_method(:decode) { |text| URI::DEFAULT_PARSER.unescape(text) }
  URI.define_singleton_method(:encode) { |text| URI::DEFAULT_PARSER.escape(text) }
end
Mongo::Logger.logger = Logger.new($stderr, level: Logger::WARN)

LOADED = 20_000 # documents that there are to be found: keys 0 and up
STRIDE = 7_919 # coprime to LOADED: every key comes, in an order that no cache knows
PREFIX = ['6955b900'].pack('H8')

def now_ns
  Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
end

# One thread's share of the work.
class Worker
  attr_reader :starts, :ends

  def initialize(items, pool, key, workers)
    @items = items
    @pool = pool
    @key = key
    @workers = workers
    # An application would have made each; the rest of a document can be shared.
    @binaries = pool.first.filter_map { |name, value| name if value.is_a?(BSON::Binary) }
    @starts = []
    @ends = []
    @sum = 0
  end

  def insert_one(until_ns)
    now = now_ns
    while now < until_ns
      document = @pool[@key % @pool.size].dup
      @binaries.each { |name| document[name] = made_anew(document[name]) }
      document['_id'] = id
      document['number'] = @key
      @key += @workers
      @starts << now_ns
      @items.insert_one(document)
      now = now_ns
      @ends << now
    end
  end

  def find_one(until_ns)
    now = now_ns
    while now < until_ns
      @key = (@key + STRIDE) % LOADED
      wanted = { '_id' => id }
      @starts << now_ns
      found = @items.find(wanted, limit: -1).first
      now = now_ns
      @ends << now
      @sum += found['number']
    end
  end

  private

  def id
    BSON::ObjectId.from_data(PREFIX + [@key].pack('Q>'))
  end

  def made_anew(value)
    BSON::Binary.new(value.data.dup, value.type)
  end
end

# As the users of the driver write documents: plain hashes of strings that are never changed.
def plain(value)
  case value
  when Hash then value.to_h.transform_values { |inner| plain(inner) }
  when Array then value.map { |inner| plain(inner) }
  when String then value.dup.freeze
  else value
  end
end

uri, database, collection, operation, workers, path = ARGV
items = Mongo::Client.new(uri).use(database)[collection]
buffer = BSON::ByteBuffer.new(File.binread(path))
pool = []
pool << plain(BSON::Document.from_bson(buffer)) until buffer.length.zero?
workers = Array.new(workers.to_i) { |key| Worker.new(items, pool, key, workers.to_i) }
$stdout.sync = true
$stdin.each_line do |line|
  workers.each { |worker| [worker.starts, worker.ends].each(&:clear) }
  began = now_ns
  until_ns = began + (line.to_i * 1_000_000)
  workers.map { |worker| Thread.new { worker.public_send(operation, until_ns) } }.each(&:join)
  ended = workers.map { |worker| worker.ends.last }.max
  puts "#{workers.sum { |worker| worker.ends.size }} #{ended - began}"
end
