# A server in Ruby: server.rb, and a Gemfile with `trunkline` in it.
FROM ruby:3.4-slim-bookworm
WORKDIR /app
COPY Gemfile Gemfile.lock ./
RUN bundle install
COPY server.rb ./
USER 65534
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=2s --start-period=30s \
  CMD ["ruby", "-rnet/http", "-e", "exit Net::HTTP.get_response(URI('http://127.0.0.1:8000/healthz')).is_a?(Net::HTTPOK)"]
# A list, so that SIGTERM reaches the server rather than a shell.
CMD ["ruby", "server.rb"]
