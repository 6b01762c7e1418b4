# SPDX-License-Identifier: GPL-2.0-or-later
"""The protocols of the differential tests. To add one: a module that generates messages, a module with the endpoints,
and a row in PROTOCOLS."""
import dialogue
import dns_queries
import dns_resolvers
import dns_responses
import dns_servers
import ftp_servers
import ftp_sessions
import http_clients
import http_requests
import http_responses
import http_servers
import smtp_servers
import smtp_sessions
import tls_hellos
import tls_servers


class Protocol:
    """`generate(number, seed)` makes a message; `rules` are the drop rules on the forbidden words; `settings` those of
    sluice.

    An endpoint is a subclass of core.Endpoint with start(), stop(), and understand(messages): a list that says of each
    message whether the endpoint read its forbidden word at its place (of a benign message: served it)."""
    rules, settings = '', ()
    drops_ambiguous = None  # the setting that drops ambiguous messages (those that endpoints read in different ways)
    dialogue = False  # run by dialogue.py: messages are sessions, and understand() also returns their records

    def endpoints(self, nightly):
        """The classes of the endpoints. `nightly`: with those that are large or slow."""
        raise NotImplementedError

    def known(self, m, endpoints):
        """The documented limit that explains a finding, or None."""
        return None


def serving(kind, understood):
    """The endpoint of a server class whose answers show what it read."""
    class Serving(kind):
        def understand(self, messages):
            return [understood(m, answer) for m, answer in zip(messages, self.exchange(messages))]
    return Serving


def fetching(kind, understood):
    """The endpoint of a client class that reports what it delivered to its user."""
    class Fetching(kind):
        def understand(self, messages):
            return self.understand_with(understood, messages)
    return Fetching


class HttpRequests(Protocol):
    rules, generate = http_requests.RULES, staticmethod(http_requests.generate)
    drops_ambiguous = 'app-layer.protocols.http.ambiguous-request-policy=drop'

    def endpoints(self, nightly):
        return [serving(kind, http_requests.understood) for kind in http_servers.SERVERS]

    def known(self, m, endpoints):
        return http_requests.limit_of(m)


class HttpResponses(Protocol):
    rules, generate = http_responses.RULES, staticmethod(http_responses.generate)
    drops_ambiguous = 'app-layer.protocols.http.ambiguous-response-policy=drop'

    def endpoints(self, nightly):
        return [fetching(kind, http_responses.understood)
                for kind in (*http_clients.CLIENTS, *(http_clients.NIGHTLY if nightly else ()))]

    def known(self, m, endpoints):
        return http_responses.limit_of(m)


class DnsQueries(Protocol):
    rules, generate = dns_queries.RULES, staticmethod(dns_queries.generate)

    def endpoints(self, nightly):
        return [serving(kind, dns_queries.understood)
                for kind in dns_servers.SERVERS + (dns_servers.NIGHTLY if nightly else ())]

    def known(self, m, endpoints):
        return dns_queries.limit(m)


class DnsResponses(Protocol):
    rules, generate = dns_responses.RULES, staticmethod(dns_responses.generate)

    def endpoints(self, nightly):
        return dns_resolvers.RESOLVERS


class TlsHellos(Protocol):
    rules, generate = tls_hellos.RULES, staticmethod(tls_hellos.generate)

    def endpoints(self, nightly):
        return [serving(kind, tls_hellos.understood)
                for kind in tls_servers.SERVERS + (tls_servers.NIGHTLY if nightly else ())]

    def known(self, m, endpoints):
        return tls_hellos.limit(m)


class Smtp(Protocol):
    dialogue, rules, generate = True, smtp_sessions.RULES, staticmethod(smtp_sessions.generate)

    def endpoints(self, nightly):
        return smtp_servers.SERVERS if nightly else smtp_servers.LIGHT

    def known(self, m, endpoints):
        if any(f in m.features for f in (f'{m.place}:rfc2047', f'{m.place}:rfc2047-q')):
            return 'encoded words (RFC 2047) are not decoded'
        if m.place is None and 'bdat' in m.features and set(endpoints) <= {'smtpd', 'aiosmtpd'}:
            return 'a server repeats in its reply what the client sent, with a line end: the reply has no code'
        return 'lines of a mail that end with CR alone' if 'lines:cr' in m.features else None


class Ftp(Protocol):
    dialogue, rules, generate = True, ftp_sessions.RULES, staticmethod(ftp_sessions.generate)

    def endpoints(self, nightly):
        return ftp_servers.SERVERS if nightly else ftp_servers.LIGHT

    def known(self, m, endpoints):
        return None if dialogue.ends_line(m) \
            else 'a last command without a line end, which ProFTPD executes when the connection ends'


PROTOCOLS = {
    'http-requests': HttpRequests(),
    'http-responses': HttpResponses(),
    'dns': DnsQueries(),
    'dns-responses': DnsResponses(),
    'tls': TlsHellos(),
    'smtp': Smtp(),
    'ftp': Ftp(),
}
