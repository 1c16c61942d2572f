package trunkline

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// SetLifespan sets functions that open what calls need, such as a database, and close it again.
// Either may be nil. Open runs before the first call, while the server starts to listen or connects
// in memory, which fails with ErrTransport if open returns an error. Close runs when the last
// listener and the last client in memory have ended. They run alternately, each time the server is
// served. The lifespan of a mounted server opens and closes with the server it is mounted on.
func (server *Server) SetLifespan(open func() error, close func()) error {
	span := &server.lifespan
	span.changing.Lock()
	defer span.changing.Unlock()
	if len(span.current()) > 0 {
		return &Error{Kind: ErrInvalidArgument, Message: "the server is in use: set its lifespan before listening"}
	}
	span.open, span.close = open, close
	return nil
}

// A lifespan is what a server needs while it is served. Its functions may wait for calls of the
// program, which callbacks of the library must not do.
type lifespan struct {
	// changing is held while it opens or closes.
	changing sync.Mutex
	open     func() error
	close    func()

	users   map[*user]struct{}
	mounted map[uint64]*lifespan
}

// A user is a listener of a server, or a connection in memory.
type user struct {
	// entered begins with the lifespan of that server.
	entered []*lifespan
	ended   bool
}

// lifespans guards the members of users, and the maps of lifespans.
var lifespans sync.Mutex

// enter opens the lifespan for a user, and those of the servers that are mounted.
func (span *lifespan) enter(user *user) error {
	if err := span.begin(user); err != nil {
		return err
	}
	lifespans.Lock()
	mounted := slices.Collect(maps.Values(span.mounted))
	hasEnded := user.ended
	lifespans.Unlock()
	for _, other := range mounted {
		if err := other.enter(user); err != nil {
			return err
		}
	}
	if hasEnded {
		span.leave(user)
	}
	return nil
}

func (span *lifespan) begin(user *user) error {
	span.changing.Lock()
	defer span.changing.Unlock()
	current := span.current()
	if slices.Contains(current, user) {
		return nil
	}
	if len(current) == 0 && span.open != nil {
		if err := recovered(span.open); err != nil {
			return fmt.Errorf("%w: %w", &Error{Kind: ErrTransport, Message: "the lifespan of the server cannot be opened"}, err)
		}
	}
	lifespans.Lock()
	defer lifespans.Unlock()
	span.users[user] = struct{}{}
	user.entered = append(user.entered, span)
	return nil
}

func (span *lifespan) current() []*user {
	lifespans.Lock()
	defer lifespans.Unlock()
	return slices.Collect(maps.Keys(span.users))
}

func (span *lifespan) leave(user *user) {
	span.changing.Lock()
	defer span.changing.Unlock()
	lifespans.Lock()
	_, isUser := span.users[user]
	delete(span.users, user)
	isLast := isUser && len(span.users) == 0
	lifespans.Unlock()
	if isLast && span.close != nil {
		contained(span.close)
	}
}

// end closes the lifespan even while it is used, because its server was closed. That ends the
// server's own users; those of servers that mount it go on.
func (span *lifespan) end() {
	for _, user := range span.current() {
		lifespans.Lock()
		isOwn := len(user.entered) > 0 && user.entered[0] == span
		lifespans.Unlock()
		if isOwn {
			user.end()
		} else {
			span.leave(user)
		}
	}
}

// mount runs a function that mounts a server, whose lifespan is open before its first call.
func (span *lifespan) mount(other *lifespan, add func() (*Feature, error)) (*Feature, error) {
	enter := func() error {
		for _, user := range span.current() {
			if err := other.enter(user); err != nil {
				return err
			}
		}
		return nil
	}
	if err := enter(); err != nil {
		return nil, err
	}
	feature, err := add()
	if err != nil {
		return nil, err
	}
	lifespans.Lock()
	span.mounted[feature.number] = other
	lifespans.Unlock()
	// Others may have entered meanwhile.
	if err := enter(); err != nil {
		_ = feature.Remove()
		return nil, err
	}
	return feature, nil
}

// unmount forgets a mounted server. Its lifespan stays open for those who have entered it, because
// calls may still use it.
func (span *lifespan) unmount(number uint64) {
	lifespans.Lock()
	defer lifespans.Unlock()
	delete(span.mounted, number)
}

// enter opens the lifespan of a server for a new user, unless the context ends before.
func (server *Server) enter(ctx context.Context) (*user, error) {
	if err := invoke(func(*uintptr) uint32 { return 0 }, &server.owner); err != nil {
		return nil, err
	}
	user, entered := new(user), make(chan error, 1)
	go func() { entered <- server.lifespan.enter(user) }()
	err := error(nil)
	select {
	case err = <-entered:
	case <-ctx.Done():
		err = cancelled(ctx)
	}
	if err != nil {
		user.end()
		return nil, err
	}
	return user, nil
}

func (user *user) end() {
	lifespans.Lock()
	user.ended = true
	entered := user.entered
	lifespans.Unlock()
	for _, span := range slices.Backward(entered) {
		span.leave(user)
	}
}
