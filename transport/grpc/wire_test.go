package grpc

import (
	"slices"
	"testing"
	"time"

	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/usher-mcp/usher/transport/transporttest"
)

// B5: health, as an orchestrator asks.
func TestHealth(t *testing.T) {
	t.Parallel()
	l := listenTCP(t)
	s := NewServer(ServerOptions{Open: always(transporttest.Echo())})
	run(t, s, l)
	h := healthv1.NewHealthClient(rawConn(t, "grpc://"+l.Addr().String()))
	ctx := within(t, 5*time.Second)
	for _, service := range []string{"", "usher.mcp.v1.Mcp"} {
		r, err := h.Check(ctx, &healthv1.HealthCheckRequest{Service: service})
		if err != nil || r.Status != healthv1.HealthCheckResponse_SERVING {
			t.Errorf("%q: %v, %v", service, r, err)
		}
	}
	watch, err := h.Watch(ctx, &healthv1.HealthCheckRequest{Service: "usher.mcp.v1.Mcp"})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := watch.Recv(); err != nil || r.Status != healthv1.HealthCheckResponse_SERVING {
		t.Errorf("Watch: %v, %v", r, err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Shutdown(ctx) }()
	if r, err := watch.Recv(); err != nil || r.Status != healthv1.HealthCheckResponse_NOT_SERVING {
		t.Errorf("while it stops: %v, %v", r, err)
	}
	if err := <-done; err != nil { // although somebody watches on
		t.Errorf("Shutdown: %v", err)
	}
}

// B5: reflection, as grpcurl asks: which services are there, and what is ours made of.
func TestReflection(t *testing.T) {
	t.Parallel()
	cc := rawConn(t, serve(t, ServerOptions{Open: always(transporttest.Echo())}))
	r, err := reflectionv1.NewServerReflectionClient(cc).ServerReflectionInfo(within(t, 5*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Send(&reflectionv1.ServerReflectionRequest{
		MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{},
	})
	got, err := r.Recv()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range got.GetListServicesResponse().GetService() {
		names = append(names, s.GetName())
	}
	slices.Sort(names)
	want := []string{
		"grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection",
		"usher.mcp.v1.Mcp",
	}
	if !slices.Equal(names, want) {
		t.Errorf("the services are %q, want %q", names, want)
	}
	_ = r.Send(&reflectionv1.ServerReflectionRequest{
		MessageRequest: &reflectionv1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: "usher.mcp.v1.Mcp"},
	})
	if got, err = r.Recv(); err != nil {
		t.Fatal(err)
	}
	var file descriptorpb.FileDescriptorProto
	if err := proto.Unmarshal(got.GetFileDescriptorResponse().GetFileDescriptorProto()[0], &file); err != nil {
		t.Fatal(err)
	}
	m := file.GetService()[0].GetMethod()[0]
	if m.GetName() != "Session" || !m.GetClientStreaming() || !m.GetServerStreaming() {
		t.Errorf("the method is %v", m)
	}
	_ = r.CloseSend()
}
