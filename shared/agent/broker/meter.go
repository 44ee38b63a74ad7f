package broker

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"

	"companyos/shared/agent/provider"
	"companyos/shared/task"
)

// meterKey finds a request's meter in its context.
type meterKey struct{}

// meter counts one answer. While it streams, what is not told yet is estimated, so that the budget holds in the middle
// of an answer and for one that was broken off.
type meter struct {
	b      *Broker
	priced bool // the model is the one whose price is known
	free   bool // a call that costs nothing

	prompt   int64 // estimate of the input: the provider tells it late, or, broken off, not at all
	streamed int64 // bytes of text so far, about
	delta    bool  // the event's name says that its data is a piece of text
	usage    task.Usage
	told     bool // the input is the provider's word
	final    bool // all of it is
	began    bool // the provider answers
	charged  float64
}

// bytesPerToken is a cautious guess for text in many languages and code.
const bytesPerToken = 4

var (
	errSpent = errors.New("the budget of the run is used up")
	errBusy  = errors.New("too many requests at one time")
)

// open begins an answer, or says that there is no room for one.
func (b *Broker) open(a asked, size int64) (*meter, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.spent {
		return nil, errSpent
	}
	if b.inflight >= inflightMost {
		return nil, errBusy
	}
	b.inflight++
	return &meter{b: b, priced: b.Price != nil && a.model == b.Model, prompt: size / bytesPerToken}, nil
}

// read puts the meter into an answer's body.
func (m *meter) read(res *http.Response) {
	m.began = true
	m.free = res.Request.URL.Path == "/v1/messages/count_tokens"
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	res.Body = &metered{body: res.Body, meter: m, stream: kind == "text/event-stream"}
}

// metered is an answer on its way through.
type metered struct {
	body   io.ReadCloser
	meter  *meter
	stream bool
	line   []byte // unfinished line of a stream, or the whole of another answer
	over   bool   // line was too long to be kept
}

// lineMost bounds what is kept of a line; the last event of a stream repeats the whole answer.
const lineMost = 8 << 20

// Read passes on what came, after it was counted.
func (r *metered) Read(p []byte) (int, error) {
	n, err := r.body.Read(p)
	if n > 0 {
		r.feed(p[:n])
	}
	if err != nil && !r.stream {
		r.meter.document(r.line)
	}
	if r.meter.charge() {
		return 0, errSpent
	}
	return n, err
}

// Close ends the answer, also in its middle.
func (r *metered) Close() error { return r.body.Close() }

func (r *metered) feed(p []byte) {
	if !r.stream {
		r.keep(p)
		return
	}
	for len(p) > 0 {
		if p[0] == '\n' && len(r.line) == 0 && !r.over { // the end of an event: every second or third line
			p = p[1:]
			continue
		}
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			r.keep(p)
			return
		}
		if len(r.line) == 0 {
			r.meter.event(p[:end])
		} else {
			r.keep(p[:end])
			r.meter.event(r.line)
		}
		r.line, r.over = r.line[:0], false
		p = p[end+1:]
	}
	if cap(r.line) > 1<<20 {
		r.line = nil
	}
}

func (r *metered) keep(p []byte) {
	if r.over || len(r.line)+len(p) > lineMost {
		r.line, r.over = nil, true
		return
	}
	r.line = append(r.line, p...)
}

// What tells the lines of a stream apart.
var (
	eventField = []byte("event:")
	dataField  = []byte("data:")
	usageField = []byte(`"usage"`)
	errorField = []byte(`"error"`)
	textDelta  = []byte(` {"type":"content_block_delta"`)
)

// overhead is about what an event of text has beside the text, in bytes.
func (a API) overhead() int {
	if a == OpenAI {
		return 170
	}
	return 80
}

// event counts one line of a stream. Nearly all of them are pieces of text, and only their length counts.
func (m *meter) event(line []byte) {
	data, ok := bytes.CutPrefix(line, dataField)
	switch {
	case !ok:
		if name, ok := bytes.CutPrefix(line, eventField); ok {
			name = bytes.TrimSpace(name)
			m.delta = bytes.HasSuffix(name, []byte(".delta")) || bytes.HasSuffix(name, []byte("block_delta"))
		}
	case m.delta || bytes.HasPrefix(data, textDelta):
		m.streamed += int64(max(len(data)-m.b.API.overhead(), bytesPerToken))
		m.delta = false
	case bytes.Contains(data, usageField) || bytes.Contains(data, errorField):
		m.parse(data)
	}
}

// told is what of an event, or of an answer that is no stream, is looked at. Both providers' shapes are in it.
type told struct {
	Type    string `json:"type"`
	Usage   *usage `json:"usage"`
	Message *struct {
		Usage *usage `json:"usage"`
	} `json:"message"`
	Response *struct {
		Status string          `json:"status"`
		Usage  *usage          `json:"usage"`
		Error  *provider.Error `json:"error"`
	} `json:"response"`
	Error *provider.Error `json:"error"`
}

type usage struct {
	Input        *int64 `json:"input_tokens"`
	Output       *int64 `json:"output_tokens"`
	CacheRead    *int64 `json:"cache_read_input_tokens"`
	CacheWrite   *int64 `json:"cache_creation_input_tokens"`
	InputDetails struct {
		Cached int64 `json:"cached_tokens"`
		Write  int64 `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
}

func (m *meter) parse(data []byte) {
	var t told
	if json.Unmarshal(data, &t) != nil {
		return
	}
	switch {
	case t.Type == "message_start" && t.Message != nil:
		m.take(t.Message.Usage)
	case t.Type == "message_delta":
		m.take(t.Usage)
		m.final = m.told && t.Usage != nil && t.Usage.Output != nil
	case t.Response != nil:
		m.take(t.Response.Usage)
		m.final = t.Response.Usage != nil
		if t.Response.Error != nil {
			m.b.failed(t.Response.Error.Failure())
		}
	case t.Type == "error" && t.Error != nil:
		m.b.failed(t.Error.Failure())
	}
}

// document counts an answer that is no stream.
func (m *meter) document(data []byte) {
	var t told
	if m.final || json.Unmarshal(data, &t) != nil {
		return
	}
	m.take(t.Usage)
	m.final = t.Usage != nil
}

// take takes the provider's word over the estimate. Anthropic counts the cache apart from the input, OpenAI within it.
func (m *meter) take(u *usage) {
	if u == nil {
		return
	}
	set := func(to *int64, from *int64) {
		if from != nil && *from >= 0 {
			*to = *from
		}
	}
	set(&m.usage.OutputTokens, u.Output)
	set(&m.usage.CacheReadTokens, u.CacheRead)
	set(&m.usage.CacheWriteTokens, u.CacheWrite)
	if u.Input == nil {
		return
	}
	m.told = true
	set(&m.usage.InputTokens, u.Input)
	if m.b.API == OpenAI {
		m.usage.CacheReadTokens = min(max(u.InputDetails.Cached, 0), *u.Input)
		m.usage.CacheWriteTokens = min(max(u.InputDetails.Write, 0), *u.Input-m.usage.CacheReadTokens)
		m.usage.InputTokens = *u.Input - m.usage.CacheReadTokens - m.usage.CacheWriteTokens
	}
}

// now is what has been used so far: the provider's word, else the estimate.
func (m *meter) now() task.Usage {
	u := m.usage
	if !m.told {
		u.InputTokens = m.prompt
	}
	if !m.final {
		u.OutputTokens = max(u.OutputTokens, m.streamed/bytesPerToken)
	}
	return u
}

// charge adds to the run's cost what the answer cost since the last time, and says whether the budget is used up.
func (m *meter) charge() bool {
	if m.b.Price == nil || m.free || !m.began {
		return false
	}
	cost := m.b.Price.Of(m.now())
	m.b.mu.Lock()
	defer m.b.mu.Unlock()
	m.b.cost += cost - m.charged
	m.charged = cost
	if m.b.BudgetUSD == 0 || m.b.cost < m.b.BudgetUSD {
		return false
	}
	if !m.b.spent {
		m.b.spent = true
		if m.b.Spent != nil {
			go m.b.Spent()
		}
	}
	return true
}

// close settles the answer.
func (m *meter) close() {
	m.charge()
	m.b.mu.Lock()
	m.b.inflight--
	if !m.began || m.free {
		m.b.mu.Unlock()
		return
	}
	u := m.now()
	m.b.usage.InputTokens += u.InputTokens
	m.b.usage.OutputTokens += u.OutputTokens
	m.b.usage.CacheReadTokens += u.CacheReadTokens
	m.b.usage.CacheWriteTokens += u.CacheWriteTokens
	m.b.unknown = m.b.unknown || !m.priced || !m.final
	switch {
	case m.final:
		m.b.answers++
		m.b.failure = nil
	case m.b.failure == nil && !m.b.spent && !m.b.shut:
		m.b.failure = &Failure{Kind: task.EndModelUnavailable, Text: "The answer of the model's provider broke off."}
	}
	total := m.b.total()
	m.b.mu.Unlock()
	if m.b.Used != nil {
		m.b.Used(total)
	}
}

// total is the usage so far. A cost of which a part is not known is not known.
func (b *Broker) total() task.Usage {
	u := b.usage
	if b.Price != nil && !b.unknown {
		cost := b.cost
		u.CostUSD, u.CostKnown = &cost, true
	}
	return u
}

// Usage is what the run has used, nil when the model was never asked.
func (b *Broker) Usage() *task.Usage {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.API == None {
		return nil
	}
	u := b.total()
	return &u
}
