package trunkline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
)

// SetLifespan sets functions that open what calls need, such as a database, and close it again.
// Either may be nil. Open runs before the first call, while the server starts to listen or connects
// in memory, which fails with ErrTransport if open returns an error. Close runs when the last
// listener and the last client in memory have ended. Each time the server is served again, open
// runs again. The lifespan of a mounted server opens with the first request that reaches it, and
// closes with the server it is mounted on. A server has at most one lifespan.
func (server *Server) SetLifespan(open func() error, close func()) error {
	span := &lifespan{open: open, close: close, logger: server.port.log()}
	data := keep(span)
	if err := c.ServerSetLifespanCalls(&server.owner, callbacks.open, callbacks.close, data, callbacks.forget); err != nil {
		forget(data)
		return err
	}
	server.lifespan.Store(span)
	return nil
}

// A lifespan is what a server needs while it is served. The library says when it opens and closes.
type lifespan struct {
	open   func() error
	close  func()
	logger *slog.Logger

	lock   sync.Mutex
	isOpen bool
	// Why it could not be opened.
	failure error
}

func (span *lifespan) begin(_ context.Context, call *Call) (any, error) {
	span.lock.Lock()
	defer span.lock.Unlock()
	// A cancelled opening may have left the lifespan open.
	span.shut()
	if span.open != nil {
		span.failure = recovered(span.open)
	}
	if span.failure != nil {
		return nil, errors.New(span.failure.Error())
	}
	span.isOpen = true
	if err := c.CallReturnJson(&call.owner, uint32(shapeResult), struct{}{}); err != nil {
		// The opening was cancelled.
		span.shut()
	}
	return nil, errNothing
}

func (span *lifespan) finish(context.Context, *Call) (any, error) {
	span.end()
	return shaped{shapeResult, struct{}{}}, nil
}

// end closes the lifespan if it is open.
func (span *lifespan) end() {
	span.lock.Lock()
	defer span.lock.Unlock()
	span.shut()
}

func (span *lifespan) shut() {
	if span.isOpen && span.close != nil {
		contained(context.Background(), span.logger, span.close)
	}
	span.isOpen = false
}

// explained is an error with that of the program's function, if that is why the server cannot be
// served.
func (server *Server) explained(err error) error {
	span := server.lifespan.Load()
	if span == nil || !errors.Is(err, ErrTransport) {
		return err
	}
	span.lock.Lock()
	defer span.lock.Unlock()
	if span.failure == nil {
		return err
	}
	return fmt.Errorf("%w: %w", &Error{Kind: ErrTransport, Message: "the lifespan of the server cannot be opened"}, span.failure)
}
