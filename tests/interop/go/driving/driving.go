// Package driving is what the Go drivers share: read the job, take its steps one by one, print the transcript.
package driving

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"sync"
	"time"
)

type Target struct {
	URL     string            `json:"url"`
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Cwd     string            `json:"cwd"`
	Env     map[string]string `json:"env"`
}

type Step struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

type Job struct {
	Target  Target `json:"target"`
	Era     string `json:"era"`
	Steps   []Step `json:"steps"`
	Answers struct {
		Elicitation json.RawMessage `json:"elicitation"`
		Sampling    json.RawMessage `json:"sampling"`
		Roots       json.RawMessage `json:"roots"`
	} `json:"answers"`
	SettleMs int `json:"settleMs"`
}

// Environ is the target's environment as os/exec wants it.
func (t Target) Environ() []string {
	var all []string
	for name, value := range t.Env {
		all = append(all, name+"="+value)
	}
	return all
}

// Heard collects what the server sent by itself.
type Heard struct {
	mutex sync.Mutex
	all   []map[string]any
}

func (h *Heard) Add(method string, params any) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.all = append(h.all, map[string]any{"method": method, "params": params})
}

// Client is one library's client, connected.
type Client struct {
	Shown   any
	Request func(Step) (any, error)
	// ErrorOf shows an error of the library; nil for its text alone.
	ErrorOf func(error) map[string]any
	Close   func()
}

// Read decodes JSON that the job is known to have.
func Read(raw json.RawMessage, into any) {
	if len(raw) == 0 {
		return
	}
	if err := json.Unmarshal(raw, into); err != nil {
		log.Fatalf("cannot read %s: %v", raw, err)
	}
}

// Cursor is the next page's cursor of any list result.
func Cursor(page any) string {
	raw, err := json.Marshal(page)
	if err != nil {
		log.Fatal(err)
	}
	var next struct {
		NextCursor string `json:"nextCursor"`
	}
	Read(raw, &next)
	return next.NextCursor
}

// Pages follows the cursors of a list.
func Pages[Page any](fetch func(cursor string) (Page, error)) (any, error) {
	var pages []Page
	for cursor := ""; ; {
		page, err := fetch(cursor)
		if err != nil {
			return nil, err
		}
		pages = append(pages, page)
		if cursor = Cursor(page); cursor == "" {
			return map[string]any{"pages": pages}, nil
		}
	}
}

func Drive(connect func(Job, *Heard) (Client, error)) {
	raw, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	var job Job
	Read(raw, &job)
	heard := &Heard{all: []map[string]any{}}
	client, err := connect(job, heard)
	if err != nil {
		log.Fatalf("cannot connect: %v", err)
	}
	outcomes := []map[string]any{}
	for _, step := range job.Steps {
		result, err := client.Request(step)
		if err == nil {
			outcomes = append(outcomes, map[string]any{"result": result})
			continue
		}
		outcomes = append(outcomes, map[string]any{"error": client.ErrorOf(err)})
	}
	time.Sleep(time.Duration(job.SettleMs) * time.Millisecond)
	heard.mutex.Lock()
	transcript, err := json.Marshal(map[string]any{"connected": client.Shown, "outcomes": outcomes, "heard": heard.all})
	if err != nil {
		log.Fatal(err)
	}
	heard.mutex.Unlock()
	client.Close()
	fmt.Println(string(transcript))
}
