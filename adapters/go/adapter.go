// The adapter of the official Go driver: reads messages, answers them.
package main

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/signal"
	"reflect"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
	"go.mongodb.org/mongo-driver/v2/version"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/auth"
)

const protocolVersion = 1

type fields map[string]any

// refusal is an `error` answer with its own code; every other error is `internal`.
type refusal struct{ code, message string }

func (r *refusal) Error() string { return r.message }

func refuse(code, format string, values ...any) error {
	return &refusal{code, fmt.Sprintf(format, values...)}
}

type adapter struct {
	stop    context.Context // ends with SIGTERM or the end of stdin
	client  *mongo.Client
	db      *mongo.Database
	concern *writeconcern.WriteConcern
	phase   *phase
	greeted bool
}

func main() {
	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	lines := make(chan []byte)
	go func() {
		// The next line is read while a turn runs, only to see the end of the file: it stops the turn.
		defer cancel()
		reader := bufio.NewReader(os.Stdin)
		for {
			line, err := reader.ReadBytes('\n')
			if err != nil {
				return
			}
			lines <- line
		}
	}()
	a := &adapter{stop: stop}
	for {
		select {
		case <-stop.Done():
			return
		case line := <-lines:
			if a.answer(os.Stdout, line) == "closed" {
				return
			}
		}
	}
}

// answer handles one line and writes one.
func (a *adapter) answer(to io.Writer, line []byte) (kind string) {
	var head struct{ Type string }
	var answer fields
	err := json.Unmarshal(line, &head)
	if err != nil {
		err = refuse("protocol", "no message: %v", err)
	} else {
		kind, answer, err = a.handle(head.Type, line)
	}
	if err != nil {
		code, own := "internal", (*refusal)(nil)
		if errors.As(err, &own) {
			code = own.code
		}
		kind, answer = "error", fields{"code": code, "message": masked(err.Error())}
	}
	text, err := json.Marshal(answer)
	if err != nil {
		panic(err)
	}
	separator := ","
	if len(answer) == 0 {
		separator, text = "", []byte("{}")
	}
	fmt.Fprintf(to, "{\"type\":%q%s%s\n", kind, separator, text[1:])
	return kind
}

func (a *adapter) handle(kind string, line []byte) (string, fields, error) {
	if kind != "hello" && !a.greeted {
		return "", nil, refuse("protocol", "%q before hello", kind)
	}
	switch kind {
	case "hello":
		return decoded(line, "hello", a.hello)
	case "clock":
		return "clock", fields{"now_ns": now()}, nil
	case "open":
		return decoded(line, "opened", a.open)
	case "prepare":
		return decoded(line, "armed", a.prepare)
	case "turn":
		return decoded(line, "turned", a.turn)
	case "end":
		if a.phase == nil {
			return "", nil, refuse("protocol", "end without prepare")
		}
		answer, err := a.phase.end()
		a.phase.close()
		a.phase = nil
		return "ended", answer, err
	case "render":
		return decoded(line, "rendered", render)
	case "close":
		if a.client != nil {
			a.client.Disconnect(a.stop)
		}
		return "closed", nil, nil
	}
	return "", nil, refuse("protocol", "unknown type %q", kind)
}

// decoded reads a message into the handler's own type.
func decoded[M any](line []byte, kind string, handler func(*M) (fields, error)) (
	string, fields, error) {
	message := new(M)
	if err := json.Unmarshal(line, message); err != nil {
		return "", nil, refuse("protocol", "%v", err)
	}
	answer, err := handler(message)
	return kind, answer, err
}

type helloMessage struct {
	Protocol struct{ Min, Max int }
	EpochNS  string `json:"epoch_ns"`
}

func (a *adapter) hello(m *helloMessage) (fields, error) {
	if a.greeted || m.Protocol.Min > protocolVersion || m.Protocol.Max < protocolVersion {
		return nil, refuse("protocol", "a second hello, or no common version (mine: 1)")
	}
	epoch, err := strconv.ParseInt(m.EpochNS, 10, 64)
	if err != nil {
		return nil, refuse("protocol", "epoch_ns: %v", err)
	}
	resolution, err := startClock(epoch)
	if err != nil {
		return nil, err
	}
	a.greeted = true
	operations, flags := []string{}, []string{}
	for _, kind := range kinds {
		operations = append(operations, kind.name)
	}
	for _, name := range []string{"GOGC", "GOMEMLIMIT", "GOMAXPROCS", "GODEBUG"} {
		if value := os.Getenv(name); value != "" {
			flags = append(flags, name+"="+value)
		}
	}
	return fields{
		"protocol": protocolVersion,
		"adapter":  "go",
		"driver":   fields{"name": "mongo-go-driver", "version": version.Driver, "native": nil},
		"runtime": fields{"name": "go", "version": strings.TrimPrefix(runtime.Version(), "go"),
			"flags": flags},
		"clock": fields{"source": "CLOCK_MONOTONIC", "resolution_ns": resolution},
		"capabilities": fields{
			"operations": operations, "roles": []string{"worker"}, "stop": "sigterm",
			"pacing":         []string{"awaited", "window", "rate", "burst"},
			"document_forms": []string{"native"},
			"concurrency":    fields{"kind": "tasks", "max": nil},
			"noop_makes":     true,
		},
	}, nil
}

type openMessage struct{ URI, Database, Role string }

func (a *adapter) open(m *openMessage) (fields, error) {
	if a.client != nil || m.Database == "" {
		return nil, refuse("protocol", "open twice, or without a database")
	}
	if m.Role != "worker" {
		return nil, refuse("unsupported", "role %q", m.Role)
	}
	secrets = secretsOf(m.URI)
	opts := options.Client().ApplyURI(m.URI)
	pool := resolvePool(m.URI)
	client, err := mongo.Connect(opts)
	if err != nil {
		return nil, err
	}
	if err = client.Ping(a.stop, nil); err != nil {
		client.Disconnect(a.stop)
		if refused := (*auth.Error)(nil); errors.As(err, &refused) && !mongo.IsTimeout(err) {
			return nil, refuse("auth", "%v", err)
		}
		return nil, refuse("connect", "%v", err)
	}
	a.client, a.db, a.concern = client, client.Database(m.Database), opts.WriteConcern
	var info struct{ Version *string }
	var hello struct {
		MaxWireVersion *int32 `bson:"maxWireVersion"`
	}
	// Facts that a server does not tell stay null.
	a.db.RunCommand(a.stop, bson.D{{Key: "buildInfo", Value: 1}}).Decode(&info)
	a.db.RunCommand(a.stop, bson.D{{Key: "hello", Value: 1}}).Decode(&hello)
	return fields{"resolved": resolve(client, opts, pool),
		"server": fields{"version": info.Version, "max_wire_version": hello.MaxWireVersion}}, nil
}

// offline refuses every connection.
type offline struct{}

func (offline) DialContext(context.Context, string, string) (net.Conn, error) {
	return nil, errors.New("offline")
}

// resolvePool asks a client that never connects: the driver tells its pool sizes only to a pool
// monitor, and one on the measured client would be called at every checkout.
func resolvePool(uri string) (pool *event.MonitorPoolOptions) {
	monitor := &event.PoolMonitor{Event: func(e *event.PoolEvent) {
		if e.Type == event.ConnectionPoolCreated {
			pool = e.PoolOptions
		}
	}}
	opts := options.Client().ApplyURI(uri).SetPoolMonitor(monitor).SetDialer(offline{})
	if client, err := mongo.Connect(opts); err == nil {
		client.Disconnect(context.Background())
	}
	return pool
}

func resolve(client *mongo.Client, opts *options.ClientOptions,
	pool *event.MonitorPoolOptions) fields {
	resolved := fields{
		"max_pool_size": nil, "min_pool_size": nil,
		"write_concern": fields{}, "read_concern": nil, "read_preference": nil, // unset: not sent
		"compressors":  append([]string{}, opts.Compressors...), // unset means none in this driver
		"retry_writes": nil, "retry_reads": nil, "tls": opts.TLSConfig != nil,
		"commands": fields{"count": "aggregate"}, // CountDocuments
	}
	if pool != nil {
		resolved["max_pool_size"], resolved["min_pool_size"] = pool.MaxPoolSize, pool.MinPoolSize
	}
	if concern := opts.WriteConcern; concern != nil {
		resolved["write_concern"] = fields{"w": concern.W, "j": concern.Journal}
	}
	if opts.ReadConcern != nil {
		resolved["read_concern"] = opts.ReadConcern.Level
	}
	// The client's defaults have no accessor. Its fields hold the real ones, a constant here would
	// be those of one version. Null should a version rename the fields.
	private := reflect.ValueOf(client).Elem()
	if mode := private.FieldByName("readPreference"); mode.IsValid() {
		if mode = mode.Elem().FieldByName("mode"); mode.IsValid() {
			resolved["read_preference"] = readpref.Mode(mode.Uint()).String()
		}
	}
	names := map[string]string{"retry_writes": "retryWrites", "retry_reads": "retryReads"}
	for name, field := range names {
		if retry := private.FieldByName(field); retry.IsValid() {
			resolved[name] = retry.Bool()
		}
	}
	return resolved
}

func (a *adapter) prepare(m *prepareMessage) (fields, error) {
	if a.phase != nil {
		return nil, refuse("protocol", "prepare before end")
	}
	p, err := newPhase(a.stop, m, a.db, a.concern)
	if err == nil {
		a.phase = p
	}
	return nil, err
}

type turnMessage struct {
	StartNS int64  `json:"start_ns"`
	UntilNS *int64 `json:"until_ns"`
}

func (a *adapter) turn(m *turnMessage) (fields, error) {
	if a.phase == nil || m.UntilNS == nil {
		return nil, refuse("protocol", "turn without prepare or until_ns")
	}
	return a.phase.turn(m.StartNS, *m.UntilNS)
}

type renderMessage struct {
	templateSpec
	Input input
}

func render(m *renderMessage) (fields, error) {
	t, err := m.compile()
	if err != nil {
		return nil, err
	}
	data, err := bson.Marshal(t.fill(&m.Input))
	return fields{"bson": hex.EncodeToString(data)}, err
}

// secrets are the parts of the URI that nothing this program prints may repeat.
var (
	secrets     []string
	userInfo    = regexp.MustCompile(`://\S*@`)
	secretParts = regexp.MustCompile(
		`://[^:/]*:(.*)@|(?i:KeyFilePassword|KeyPassword|AWS_SESSION_TOKEN)[=:]([^&,]+)`)
)

func secretsOf(uri string) (found []string) {
	for _, match := range secretParts.FindAllStringSubmatch(uri, -1) {
		raw := match[1] + match[2]
		if plain, err := url.QueryUnescape(raw); err == nil && plain != "" {
			found = append(found, plain)
		}
		if raw != "" {
			found = append(found, raw)
		}
	}
	return found
}

func masked(message string) string {
	message = userInfo.ReplaceAllString(message, "://***@")
	for _, secret := range secrets {
		message = strings.ReplaceAll(message, secret, "***")
	}
	return message
}
