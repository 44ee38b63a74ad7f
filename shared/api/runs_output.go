package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"companyos/shared/store"
	"companyos/shared/task"
	"companyos/shared/wire"
)

func (s *server) runEvents(ctx context.Context, _ http.ResponseWriter, r *request) (any, error) {
	f, err := s.Company.FollowRun(ctx, r.PathValue("run_id"), r.query.After, r.query.Limit, time.Duration(r.query.Wait)*time.Second)
	if err != nil {
		return nil, err
	}
	out := wire.RunEvents{Data: make([]wire.Event, len(f.Events)), Next: f.Next, Terminal: f.Terminal}
	for i, e := range f.Events {
		if out.Data[i], err = runEvent(e); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// runEvent puts together what is stored apart.
func runEvent(e store.Event) (out wire.Event, err error) {
	if err := json.Unmarshal(e.Body, &out); err != nil {
		return out, fmt.Errorf("event %d: %w", e.Seq, err)
	}
	out.Seq, out.At, out.Type = e.Seq, e.At.Unix(), wire.EventType(e.Type)
	return out, nil
}

// answerMost is the size up to which an object is in the answer itself; whoever asks for a larger one is sent to the store.
const answerMost = 4 << 20

// runArtifact answers with a stored object. It is somebody else's text: a browser is to keep it as a file, not to show it.
func (s *server) runArtifact(kind string) handler {
	return func(ctx context.Context, w http.ResponseWriter, r *request) (any, error) {
		o, err := s.Company.RunOutput(ctx, r.PathValue("run_id"), kind)
		if err != nil {
			return nil, err
		}
		defer o.Body.Close()
		h := w.Header()
		tag := `"` + o.SHA256 + `"`
		h.Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return written{}, nil
		}
		if o.Size > answerMost {
			url, err := s.Company.OutputURL(ctx, o)
			if err != nil {
				return nil, err
			}
			h.Set("Location", url)
			w.WriteHeader(http.StatusTemporaryRedirect)
			return written{}, nil
		}
		body, err := io.ReadAll(io.LimitReader(o.Body, answerMost+1))
		if err != nil {
			return nil, task.Unavailable("artifacts_unavailable", "The artifact store is not reachable", err)
		}
		h.Set("Content-Disposition", "attachment; filename="+strconv.Quote(r.PathValue("run_id")+"."+kind))
		write(w, r.Request, http.StatusOK, r.route.Type, body)
		return written{}, nil
	}
}
