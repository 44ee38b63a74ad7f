package agent

import (
	"runtime"
	"sync"
	"testing"
	"time"
)

// A child ends with the supervisor, not with the thread that started it: the lock's threads end with each command.
func TestAChildOutlivesTheThreads(t *testing.T) {
	t.Parallel()
	in := &cell{}
	var children, starts sync.WaitGroup
	for range 100 {
		starts.Go(func() {
			p := in.command(t.Context(), []string{"sleep", "2"})
			if err := p.Start(); err != nil {
				t.Error(err)
				return
			}
			children.Go(func() {
				if err := p.Wait(); err != nil {
					t.Errorf("a child ended: %v", err)
				}
			})
		})
	}
	starts.Wait()
	for end := time.Now().Add(time.Second); time.Now().Before(end); {
		var threads sync.WaitGroup
		for range 100 {
			threads.Go(func() {
				runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
				time.Sleep(time.Millisecond)
			})
		}
		threads.Wait()
	}
	children.Wait()
}
