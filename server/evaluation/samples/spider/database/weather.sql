BEGIN;
CREATE TABLE station (id INTEGER PRIMARY KEY, city TEXT, altitude INTEGER);
CREATE TABLE reading (station_id INTEGER REFERENCES station (id), day TEXT, high REAL, low REAL, rain REAL);
INSERT INTO station VALUES (1, 'Arden', 120), (2, 'Belm', 640), (3, 'Corva', 15), (4, 'Dunmore', 300);
INSERT INTO reading VALUES
  (1, 'Mon', 21.5, 12.0, 0.0), (1, 'Tue', 19.0, 11.5, 4.2), (2, 'Mon', 15.0, 6.0, 0.0), (2, 'Tue', 14.0, 5.5, 9.1),
  (3, 'Mon', 24.0, 17.0, 0.0), (3, 'Tue', 24.0, 16.5, 0.4);
COMMIT;
